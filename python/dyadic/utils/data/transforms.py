"""Transforms of images, tensors [channels, height, width] as read_image and ImageFolder give them, by torchvision's names."""
from ..._dyadic._data.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    Grayscale,
    Normalize,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    ToFloat,
    Transform,
)

ToTensor = ToFloat
