from lowtide.tflite.read import *
from lowtide.tflite.read import load, parse
