// Nothing of it is needed where the one lane is (highway.h).
#pragma once
