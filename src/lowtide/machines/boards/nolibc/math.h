/* For compilers without a C library, to compile only: what generated code uses of <math.h>. */
#ifndef LOWTIDE_NOLIBC_MATH_H
#define LOWTIDE_NOLIBC_MATH_H
float expf(float x);
float fabsf(float x);
float floorf(float x);
float logf(float x);
float powf(float x, float y);
float roundf(float x);
float sqrtf(float x);
float tanhf(float x);
double exp(double x);
double floor(double x);
double round(double x);
double tanh(double x);
#endif
