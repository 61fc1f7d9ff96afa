"""PyTorch's module for each distribution: distributions.normal.Normal is distributions.Normal."""
import re
import sys
import types

from . import composed, constraints, continuous, discrete, gammas, matrices, more
from .distribution import Distribution

_package = sys.modules[__package__]
_ODD = {"LKJCholesky": "lkj_cholesky", "StudentT": "studentT", "MultivariateNormal": "multivariate_normal", "FisherSnedecor": "fishersnedecor", "LowRankMultivariateNormal": "lowrank_multivariate_normal", "RelaxedOneHotCategorical": "relaxed_categorical"}
for _module in (composed, continuous, discrete, gammas, matrices, more):
    for _name, _class in list(vars(_module).items()):
        if isinstance(_class, type) and issubclass(_class, Distribution) and _class.__module__ == _module.__name__ and _name[0] != "_":
            _short = _ODD.get(_name) or ("chi2" if _name == "Chi2" else re.sub(r"(?<!^)(?=[A-Z])", "_", _name).lower())
            if _short in vars(_package):
                continue
            _place = types.ModuleType(f"{__package__}.{_short}", f"PyTorch's place of {_name}.")
            setattr(_place, _name, _class)
            _place.Distribution, _place.constraints = Distribution, constraints  # which PyTorch's imports leave there
            _class.__module__ = _place.__name__
            setattr(_package, _short, _place)
            sys.modules[_place.__name__] = _place
