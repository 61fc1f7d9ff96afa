"""How layers are called and what they say of themselves: inputs by name, sizes asked for, arguments as they were given."""
import pytest

import dyadic as dy
from dyadic import nn


def test_inputs_by_name():
    x, y = dy.randn(3, 2), dy.tensor([0, 1, 1])
    same = lambda a, b: bool((a == b).all())  # noqa: E731
    for layer in (nn.Linear(2, 2), nn.LayerNorm(2), nn.RMSNorm(2), nn.ReLU(), nn.GELU(), nn.Dropout(0.0), nn.Softmax(-1), nn.PReLU(), nn.Flatten(), nn.Sequential(nn.ReLU()), nn.GroupNorm(1, 2)):
        assert same(layer(input=x), layer(x)), layer
    assert same(nn.RMSNorm(2)(x=x), nn.RMSNorm(2)(x))
    embedding, bilinear, loss = nn.Embedding(3, 2), nn.Bilinear(2, 2, 3), nn.CrossEntropyLoss(weight=dy.tensor([1.0, 2]))
    assert same(embedding(input=y), embedding(y)) and same(bilinear(input2=x, input1=x * 2), bilinear(x * 2, x))
    assert loss(x, target=y) == loss(x, y) == loss(target=y, input=x)
    assert nn.MSELoss()(target=x, input=x * 2) == nn.MSELoss()(x * 2, x)
    with pytest.raises(TypeError, match="MSELoss: unknown input inpt; it takes input, target"):
        nn.MSELoss()(inpt=x, target=x)
    with pytest.raises(TypeError, match="MSELoss: input is given twice"):
        nn.MSELoss()(x, input=x)
    with pytest.raises(TypeError, match="MSELoss: an input is missing"):
        nn.MSELoss()(input=x)


def test_output_sizes():
    conv, x = nn.ConvTranspose2d(1, 2, 3, stride=2), dy.randn(1, 1, 4, 4)
    assert tuple(conv(x, output_size=[10, 9]).shape) == (1, 2, 10, 9) and tuple(conv(x).shape) == (1, 2, 9, 9)
    assert tuple(nn.ConvTranspose1d(1, 2, 3, stride=2, padding=1)(dy.randn(1, 4), output_size=(2, 8)).shape) == (2, 8)
    with pytest.raises(ValueError, match="ConvTranspose2d: output_size does not fit: 19 in dimension 3; 9 to 10 can be made"):
        conv(x, output_size=[10, 19])
    image = dy.randn(1, 1, 5, 5)
    values, places = nn.MaxPool2d(2, return_indices=True)(image)
    back = nn.MaxUnpool2d(2)(values, places, output_size=image.size())
    assert back.shape == image.shape and back.sum().item() == pytest.approx(values.sum().item())


def test_instance_norm_of_one_image():
    norm, x = nn.InstanceNorm1d(3, track_running_stats=True), dy.randn(3, 8)
    assert (norm(x) == norm(x.unsqueeze(0))[0]).all() and tuple(norm(x).shape) == (3, 8)
    assert x.size(0) == 3 and abs(norm(x)[1].mean().item()) < 1e-6 and norm.num_batches_tracked == 0
    assert norm.running_mean.abs().sum() > 0 and tuple(norm.eval()(x).shape) == (3, 8)
    with pytest.raises(ValueError, match="InstanceNorm1d: wrong number of dimensions"):
        norm(dy.randn(3))


def test_recurrence_over_no_sequences():
    output, (h, c) = nn.LSTM(2, 3)(dy.ones(2, 0, 2))
    assert tuple(output.shape) == (2, 0, 3) and tuple(h.shape) == tuple(c.shape) == (1, 0, 3)
    output, h = nn.GRU(2, 3, 2, batch_first=True, bidirectional=True)(dy.ones(0, 2, 2))
    assert tuple(output.shape) == (0, 2, 6) and tuple(h.shape) == (4, 0, 3)


def test_arguments_are_as_they_were_given():
    pool = nn.MaxPool2d(3)
    assert pool.kernel_size == 3 and pool.stride == 3 and nn.MaxPool2d((3, 2)).kernel_size == (3, 2) and nn.AvgPool1d(3).stride == (3,)
    assert nn.AdaptiveAvgPool2d(3).output_size == 3 and nn.LPPool2d(2, 3).stride is None and nn.Conv2d(1, 1, 3).kernel_size == (3, 3)
    assert repr(nn.Softplus(1, 20)) == "Softplus(beta=1, threshold=20)" and repr(nn.Threshold(0.5, 2)) == "Threshold(threshold=0.5, value=2)"
    assert repr(nn.LPPool2d(2, 3)) == "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"
    pool.kernel_size, pool.stride = 2, 1
    assert pool.kernel_size == 2 and tuple(pool(dy.randn(1, 4, 4)).shape) == (1, 3, 3)
    attention = nn.MultiheadAttention(4, 2)
    assert attention.kdim == attention.vdim == 4 and attention.head_dim == 2
    assert nn.Conv2d(1, 1, 3).transposed is False and nn.ConvTranspose2d(1, 1, 3).transposed and nn.Conv2d(1, 1, 3).output_padding == (0, 0)
    assert nn.LSTM(1, 1).mode == "LSTM" and nn.RNN(1, 1, nonlinearity="relu").mode == "RNN_RELU" and not hasattr(nn.ReLU(), "mode")
    assert nn.LayerNorm(2).elementwise_affine and not nn.LayerNorm(2, elementwise_affine=False).elementwise_affine


def test_attributes_are_set_and_deleted():
    linear, embedding = nn.Linear(2, 2), nn.Embedding(3, 2)
    linear.out_features, embedding.num_embeddings, embedding.padding_idx = 4, 5, None
    assert linear.out_features == 4 and embedding.num_embeddings == 5
    del linear.bias
    assert list(linear.state_dict()) == ["weight"] and not hasattr(linear, "bias")
    del linear._parameters["weight"]
    assert list(linear.state_dict()) == []
    linear.register_parameter("weight", nn.Parameter(dy.ones(2, 2)))
    assert linear(dy.ones(1, 2)).tolist() == [[2, 2]]
    del linear.weight
    linear.weight = dy.full((2, 2), 3.0)  # of no one's: computed elsewhere
    assert linear(dy.ones(1, 2)).tolist() == [[6, 6]] and list(linear.parameters()) == []
    linear = nn.Linear(2, 2)
    linear.weight = nn.Parameter(dy.ones(2, 2))
    assert list(linear.state_dict()) == ["weight", "bias"]
    with pytest.raises(TypeError, match="assign an nn.Parameter or None"):
        linear.weight = dy.ones(2, 2)
    with pytest.raises(KeyError, match="is an attribute of the class"):
        linear.register_parameter("forward", nn.Parameter(dy.ones(1)))
