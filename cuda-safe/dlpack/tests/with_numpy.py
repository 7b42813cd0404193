"""Exchanges tensors of the library whose path is the argument with NumPy, by capsules made with ctypes."""

import ctypes
import sys

import numpy

module = ctypes.CDLL(sys.argv[1])
module.give.restype = ctypes.c_void_p
module.take.argtypes = [ctypes.c_void_p]
module.take.restype = ctypes.c_int64

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
CUDA_HOST = 3


class Pinned:
    """What NumPy asks for a tensor."""

    def __dlpack_device__(self):
        return CUDA_HOST, 0

    def __dlpack__(self, *, max_version=None, **rest):
        assert max_version[0] >= 1, max_version
        tensor = module.give()
        assert tensor
        return python.PyCapsule_New(tensor, NAME, None)


# From Rust to NumPy: the array is the pinned memory, row by row, and is freed with its last view.
array = numpy.from_dlpack(Pinned())
assert array.shape == (2, 3) and array.dtype == numpy.float32, array
assert array.tolist() == [[1, 2, 3], [4, 5, 6]], array
assert array.flags.writeable and not array.flags.owndata
array[1] *= 10
view = array[:, 2]
del array
assert view.tolist() == [3, 60], view
del view

# From NumPy to Rust: the elements are read in place, and the array is given back.
numbers = numpy.arange(12, dtype=numpy.int64).reshape(3, 4)
free = sys.getrefcount(numbers)


def give(numbers):
    capsule = numbers.__dlpack__(max_version=(1, 0))
    tensor = python.PyCapsule_GetPointer(capsule, NAME)
    python.PyCapsule_SetName(capsule, USED)
    return module.take(tensor)


assert give(numbers) == 66
assert give(numbers[1:]) == 60, "a part that begins later"
assert give(numbers.T) == -1, "its rows are not compact"
assert give(numbers.astype(numpy.int32)) == -1, "another type"
assert sys.getrefcount(numbers) == free, "each was given back"
print("both directions")
