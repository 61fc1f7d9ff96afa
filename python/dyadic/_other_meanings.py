"""What PyTorch has under the same name with another meaning at some edge: by function, what holds here. For the reference."""

MEANINGS = {
    "sort, argsort, msort, topk, kthvalue": "Equal keys keep the order of their places, always: as PyTorch's sort with stable=True. Without it PyTorch's order of more than 16 equal keys depends on the processor.",
    "mode": "The place is the last one of the most frequent value. PyTorch gives one of its places.",
    "var, std, var_mean, std_mean": "dim=() is all dimensions, in the gradient as well. PyTorch divides that gradient by 1 - correction.",
    "clone, to, contiguous, *_like": "Results are dense in the order of their sizes. PyTorch keeps the order in which the elements lie, or takes memory_format's.",
    "linalg.lstsq": "residuals of the driver gelsy, which are empty, require no grad.",
    "mse_loss, smooth_l1_loss, huber_loss, pooling, linear algebra, gelu and others": "Dtypes for which PyTorch has no kernel are computed: small integers, bool, f16, 8-bit floats.",
}
