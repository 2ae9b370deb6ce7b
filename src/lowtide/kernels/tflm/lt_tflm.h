/* SPDX-License-Identifier: Apache-2.0 */
/* lt_tflm.h: TensorFlow Lite Micro's (TFLM's) names over networks that lowtide compiled.
 *
 * Firmware for TFLM includes this file by the paths of TFLM's headers, which are beside it, and runs
 * unchanged. In place of the bytes of a .tflite, it has a compiled network (lt_tflm_model.h). Everything
 * that the network needs is in the firmware's tensor_arena: arena, state, instance and tensors.
 *
 * It is written from the names and the behaviour of that interface, and contains no code of TFLM. It is
 * C++11 without exceptions, RTTI or allocations.
 */
#ifndef LT_TFLM_H
#define LT_TFLM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "lt_tflm_model.h"

/* MicroPrintf calls this function. lt_tflm_log.c has a weak one, which calls vprintf. */
extern "C" void DebugLog(const char *format, va_list args);

namespace tflite {

template <typename... Args>
void Unused(const Args &...)
{
}

} /* namespace tflite */

#ifdef TF_LITE_STRIP_ERROR_STRINGS
#define MicroPrintf(...) tflite::Unused(__VA_ARGS__)
#define VMicroPrintf(...) tflite::Unused(__VA_ARGS__)
#else

inline void lt_tflm_write(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    DebugLog(format, args);
    va_end(args);
}

/* Writes a line, and ends it. */
inline void VMicroPrintf(const char *format, va_list args)
{
    DebugLog(format, args);
    lt_tflm_write("\r\n");
}

inline void MicroPrintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    VMicroPrintf(format, args);
    va_end(args);
}

#endif

#define TF_LITE_ENSURE_STATUS(a)                 \
    do {                                         \
        const TfLiteStatus lt_tflm_status = (a); \
        if (lt_tflm_status != kTfLiteOk) {       \
            return lt_tflm_status;               \
        }                                        \
    } while (0)

#define TFLITE_CHECK(x) ((x) ? (void)0 : abort())
#define TFLITE_CHECK_EQ(x, y) TFLITE_CHECK((x) == (y))
#define TFLITE_CHECK_NE(x, y) TFLITE_CHECK((x) != (y))
#define TFLITE_CHECK_GE(x, y) TFLITE_CHECK((x) >= (y))
#define TFLITE_CHECK_GT(x, y) TFLITE_CHECK((x) > (y))
#define TFLITE_CHECK_LE(x, y) TFLITE_CHECK((x) <= (y))
#define TFLITE_CHECK_LT(x, y) TFLITE_CHECK((x) < (y))
#ifdef NDEBUG
#define TFLITE_DCHECK(x) ((void)0)
#else
#define TFLITE_DCHECK(x) TFLITE_CHECK(x)
#endif
#define TFLITE_DCHECK_EQ(x, y) TFLITE_DCHECK((x) == (y))
#define TFLITE_DCHECK_NE(x, y) TFLITE_DCHECK((x) != (y))
#define TFLITE_DCHECK_GE(x, y) TFLITE_DCHECK((x) >= (y))
#define TFLITE_DCHECK_GT(x, y) TFLITE_DCHECK((x) > (y))
#define TFLITE_DCHECK_LE(x, y) TFLITE_DCHECK((x) <= (y))
#define TFLITE_DCHECK_LT(x, y) TFLITE_DCHECK((x) < (y))

struct TFLMRegistration {};

namespace tflite {

using Model = ::lt_tflm_model;

/* The network at `array`. If there is none, the result cannot run, and its version() is 0. */
inline const Model *GetModel(const void *array)
{
    static const Model none = {};
    if (array == nullptr || memcmp(array, LT_TFLM_MAGIC, sizeof(LT_TFLM_MAGIC)) != 0) {
        return &none;
    }
    return static_cast<const Model *>(array);
}

inline void InitializeTarget()
{
}

/* Operators: kernels are compiled into the network, so that none has to be named. Whatever is added,
 * and however many, is fine. */
class MicroOpResolver {};

template <unsigned int count>
class MicroMutableOpResolver : public MicroOpResolver {
public:
#define LT_OP(name)                                 \
    template <typename... Registration>             \
    TfLiteStatus Add##name(const Registration &...) \
    {                                               \
        return kTfLiteOk;                           \
    }
    /* clang-format off */
    LT_OP(Abs) LT_OP(Add) LT_OP(AddN) LT_OP(ArgMax) LT_OP(ArgMin) LT_OP(AssignVariable)
    LT_OP(AveragePool2D) LT_OP(BatchMatMul) LT_OP(BatchToSpaceNd) LT_OP(BroadcastArgs)
    LT_OP(BroadcastTo) LT_OP(CallOnce) LT_OP(Cast) LT_OP(Ceil) LT_OP(CircularBuffer)
    LT_OP(Concatenation) LT_OP(Conv2D) LT_OP(Cos) LT_OP(CumSum) LT_OP(Decode) LT_OP(Delay)
    LT_OP(DepthToSpace) LT_OP(DepthwiseConv2D) LT_OP(Dequantize) LT_OP(DetectionPostprocess)
    LT_OP(Div) LT_OP(DynamicUpdateSlice) LT_OP(Elu) LT_OP(EmbeddingLookup) LT_OP(Energy)
    LT_OP(Equal) LT_OP(EthosU) LT_OP(Exp) LT_OP(ExpandDims) LT_OP(FftAutoScale) LT_OP(Fill)
    LT_OP(FilterBank) LT_OP(FilterBankLog) LT_OP(FilterBankSpectralSubtraction)
    LT_OP(FilterBankSquareRoot) LT_OP(Floor) LT_OP(FloorDiv) LT_OP(FloorMod) LT_OP(Framer)
    LT_OP(FullyConnected) LT_OP(Gather) LT_OP(GatherNd) LT_OP(Greater) LT_OP(GreaterEqual)
    LT_OP(HardSwish) LT_OP(If) LT_OP(Irfft) LT_OP(L2Normalization) LT_OP(L2Pool2D) LT_OP(LeakyRelu)
    LT_OP(Less) LT_OP(LessEqual) LT_OP(Log) LT_OP(LogSoftmax) LT_OP(LogicalAnd) LT_OP(LogicalNot)
    LT_OP(LogicalOr) LT_OP(Logistic) LT_OP(MaxPool2D) LT_OP(Maximum) LT_OP(Mean) LT_OP(Minimum)
    LT_OP(MirrorPad) LT_OP(Mul) LT_OP(Neg) LT_OP(NotEqual) LT_OP(OverlapAdd) LT_OP(PCAN) LT_OP(Pack)
    LT_OP(Pad) LT_OP(PadV2) LT_OP(Prelu) LT_OP(Quantize) LT_OP(ReadVariable) LT_OP(ReduceAll)
    LT_OP(ReduceMax) LT_OP(ReduceMin) LT_OP(Relu) LT_OP(Relu6) LT_OP(Reshape) LT_OP(ResizeBilinear)
    LT_OP(ResizeNearestNeighbor) LT_OP(ReverseV2) LT_OP(Rfft) LT_OP(Round) LT_OP(Rsqrt)
    LT_OP(SelectV2) LT_OP(Shape) LT_OP(Sin) LT_OP(Slice) LT_OP(Softmax) LT_OP(SpaceToBatchNd)
    LT_OP(SpaceToDepth) LT_OP(Split) LT_OP(SplitV) LT_OP(Sqrt) LT_OP(Square)
    LT_OP(SquaredDifference) LT_OP(Squeeze) LT_OP(Stacker) LT_OP(StridedSlice) LT_OP(Sub) LT_OP(Sum)
    LT_OP(Svdf) LT_OP(Tanh) LT_OP(Transpose) LT_OP(TransposeConv) LT_OP(UnidirectionalSequenceLSTM)
    LT_OP(Unpack) LT_OP(VarHandle) LT_OP(While) LT_OP(Window) LT_OP(ZerosLike)
    LT_OP(Custom) LT_OP(Builtin)
    /* clang-format on */
#undef LT_OP
};

/* What may be given to these. */
#define LT_OP(name)                           \
    inline TFLMRegistration Register_##name() \
    {                                         \
        return TFLMRegistration();            \
    }
/* clang-format off */
LT_OP(ABS) LT_OP(ADD) LT_OP(ADD_INT16) LT_OP(ADD_INT8) LT_OP(ADD_N) LT_OP(ARG_MAX) LT_OP(ARG_MIN)
LT_OP(ASSIGN_VARIABLE) LT_OP(AVERAGE_POOL_2D) LT_OP(AVERAGE_POOL_2D_INT16)
LT_OP(AVERAGE_POOL_2D_INT8) LT_OP(BATCH_MATMUL) LT_OP(BATCH_MATMUL_INT16) LT_OP(BATCH_MATMUL_INT8)
LT_OP(BATCH_TO_SPACE_ND) LT_OP(BROADCAST_ARGS) LT_OP(BROADCAST_TO) LT_OP(CALL_ONCE) LT_OP(CAST)
LT_OP(CEIL) LT_OP(CIRCULAR_BUFFER) LT_OP(CONCATENATION) LT_OP(CONV_2D) LT_OP(CONV_2D_INT16)
LT_OP(CONV_2D_INT4) LT_OP(CONV_2D_INT8) LT_OP(CONV_2D_INT8REF) LT_OP(COS) LT_OP(CUMSUM)
LT_OP(DECODE) LT_OP(DELAY) LT_OP(DEPTHWISE_CONV_2D) LT_OP(DEPTHWISE_CONV_2D_INT16)
LT_OP(DEPTHWISE_CONV_2D_INT4) LT_OP(DEPTHWISE_CONV_2D_INT8) LT_OP(DEPTH_TO_SPACE) LT_OP(DEQUANTIZE)
LT_OP(DIV) LT_OP(DYNAMIC_UPDATE_SLICE) LT_OP(ELU) LT_OP(EMBEDDING_LOOKUP) LT_OP(ENERGY) LT_OP(EQUAL)
LT_OP(ETHOSU) LT_OP(EXP) LT_OP(EXPAND_DIMS) LT_OP(FFT_AUTO_SCALE) LT_OP(FILL) LT_OP(FILTER_BANK)
LT_OP(FILTER_BANK_LOG) LT_OP(FILTER_BANK_SPECTRAL_SUBTRACTION) LT_OP(FILTER_BANK_SQUARE_ROOT)
LT_OP(FLOOR) LT_OP(FLOOR_DIV) LT_OP(FLOOR_MOD) LT_OP(FRAMER) LT_OP(FULLY_CONNECTED)
LT_OP(FULLY_CONNECTED_INT16) LT_OP(FULLY_CONNECTED_INT4) LT_OP(FULLY_CONNECTED_INT8) LT_OP(GATHER)
LT_OP(GATHER_ND) LT_OP(GREATER) LT_OP(GREATER_EQUAL) LT_OP(HARD_SWISH) LT_OP(IF)
LT_OP(L2_NORMALIZATION) LT_OP(L2_POOL_2D) LT_OP(LEAKY_RELU) LT_OP(LESS) LT_OP(LESS_EQUAL) LT_OP(LOG)
LT_OP(LOGICAL_AND) LT_OP(LOGICAL_NOT) LT_OP(LOGICAL_OR) LT_OP(LOGISTIC) LT_OP(LOG_SOFTMAX)
LT_OP(MAXIMUM) LT_OP(MAXIMUM_INT8) LT_OP(MAX_POOL_2D) LT_OP(MAX_POOL_2D_INT16)
LT_OP(MAX_POOL_2D_INT8) LT_OP(MEAN) LT_OP(MINIMUM) LT_OP(MINIMUM_INT8) LT_OP(MIRROR_PAD) LT_OP(MUL)
LT_OP(MUL_INT8) LT_OP(NEG) LT_OP(NOT_EQUAL) LT_OP(OVERLAP_ADD) LT_OP(PACK) LT_OP(PAD) LT_OP(PADV2)
LT_OP(PAD_INT8) LT_OP(PCAN) LT_OP(PRELU) LT_OP(QUANTIZE) LT_OP(READ_VARIABLE) LT_OP(REDUCE_ALL)
LT_OP(REDUCE_MAX) LT_OP(REDUCE_MIN) LT_OP(RELU) LT_OP(RELU6) LT_OP(RESHAPE) LT_OP(RESIZE_BILINEAR)
LT_OP(RESIZE_NEAREST_NEIGHBOR) LT_OP(REVERSE_V2) LT_OP(ROUND) LT_OP(RSQRT) LT_OP(SELECT_V2)
LT_OP(SHAPE) LT_OP(SIN) LT_OP(SLICE) LT_OP(SOFTMAX) LT_OP(SOFTMAX_INT16) LT_OP(SOFTMAX_INT8)
LT_OP(SOFTMAX_INT8_INT16) LT_OP(SPACE_TO_BATCH_ND) LT_OP(SPACE_TO_DEPTH) LT_OP(SPLIT) LT_OP(SPLIT_V)
LT_OP(SQRT) LT_OP(SQUARE) LT_OP(SQUARED_DIFFERENCE) LT_OP(SQUEEZE) LT_OP(STACKER)
LT_OP(STRIDED_SLICE) LT_OP(SUB) LT_OP(SUM) LT_OP(SVDF) LT_OP(SVDF_INT8) LT_OP(TANH) LT_OP(TRANSPOSE)
LT_OP(TRANSPOSE_CONV) LT_OP(TRANSPOSE_CONV_INT8) LT_OP(TRANSPOSE_INT8)
LT_OP(UNIDIRECTIONAL_SEQUENCE_LSTM) LT_OP(UNIDIRECTIONAL_SEQUENCE_LSTM_INT16)
LT_OP(UNIDIRECTIONAL_SEQUENCE_LSTM_INT8) LT_OP(UNPACK) LT_OP(VAR_HANDLE) LT_OP(WHILE) LT_OP(WINDOW)
LT_OP(ZEROS_LIKE)
/* clang-format on */
#undef LT_OP

/* Does nothing: `lowtide run --profile` shows where instructions go. */
class MicroProfilerInterface {
public:
    virtual ~MicroProfilerInterface() {}
    virtual uint32_t BeginEvent(const char *tag) = 0;
    virtual void EndEvent(uint32_t event) = 0;
};

/* A tensor_arena: the networks' own memory, in which their tensors lie, from its start, and what stays
 * between two runs from its end. Networks that share one share the former: they run in turn, and what
 * is in the inputs and outputs of one is gone when another runs. */
class MicroAllocator {
public:
    MicroAllocator(uint8_t *arena, size_t size)
        : from_(reinterpret_cast<uintptr_t>(arena)), to_(from_ + size), head_(from_),
          tail_(Down(to_, kAlign)), lent_(0), kept_(0)
    {
    }

    /* One that lies in the arena itself; null if that is too small. */
    static MicroAllocator *Create(uint8_t *arena, size_t size)
    {
        MicroAllocator made(arena, size);
        void *place = arena == nullptr ? nullptr : made.Keep<MicroAllocator>(1);
        return place == nullptr ? nullptr : new (place) MicroAllocator(made);
    }

    /* Memory for the time that a network runs, from the start; null if there is too little. */
    void *Lend(size_t bytes, size_t align)
    {
        const uintptr_t at = Up(from_, align);
        const size_t most = Most(bytes, align);
        head_ = at + bytes > head_ ? at + bytes : head_;
        lent_ = most > lent_ ? most : lent_;
        return Fits() ? reinterpret_cast<void *>(at) : nullptr;
    }

    /* Permanent memory, from the end; null if there is too little. */
    void *Keep(size_t bytes, size_t align)
    {
        tail_ = Down(tail_ - Up(bytes, kAlign), align);
        kept_ += Most(bytes, align);
        return Fits() ? reinterpret_cast<void *>(tail_) : nullptr;
    }
    template <typename T>
    void *Keep(size_t count)
    {
        return Keep(count * sizeof(T), alignof(T));
    }

    size_t size() const { return to_ - from_; }
    bool Fits() const { return (head_ - from_) + (to_ - tail_) <= size(); }

    /* Bytes of an arena that is large enough at any address, as memory from `new` may lie anywhere. At most
     * size() if this arena is large enough. */
    size_t used_bytes() const
    {
        const size_t anywhere = lent_ + kept_ + (kAlign - 1);
        return Fits() && anywhere > size() ? size() : anywhere;
    }

private:
    static const uintptr_t kAlign = 16;

    static uintptr_t Down(uintptr_t at, uintptr_t align) { return at & ~(align - 1); }
    static uintptr_t Up(uintptr_t at, uintptr_t align) { return Down(at + (align - 1), align); }

    /* What a block takes at most, from a multiple of kAlign on. */
    static size_t Most(size_t bytes, size_t align)
    {
        return Up(bytes, kAlign) + (align > kAlign ? align - kAlign : 0);
    }

    uintptr_t from_, to_, head_, tail_;
    size_t lent_, kept_;
};

/* Not needed: networks keep their state in the arena of their interpreter. */
class MicroResourceVariables {
public:
    static MicroResourceVariables *Create(MicroAllocator *allocator, int)
    {
        void *place = allocator == nullptr ? nullptr : allocator->Keep<MicroResourceVariables>(1);
        return place == nullptr ? nullptr : new (place) MicroResourceVariables();
    }
};

/* T* where a tensor lies. */
template <typename T>
T *GetTensorData(TfLiteTensor *tensor)
{
    return tensor == nullptr ? nullptr : static_cast<T *>(tensor->data.data);
}
template <typename T>
const T *GetTensorData(const TfLiteTensor *tensor)
{
    return tensor == nullptr ? nullptr : static_cast<const T *>(tensor->data.data);
}

template <typename T>
TfLiteType typeToTfLiteType()
{
    return kTfLiteNoType;
}
#define LT_TYPE(type, name)                       \
    template <>                                   \
    inline TfLiteType typeToTfLiteType<type>()    \
    {                                             \
        return name;                              \
    }
LT_TYPE(float, kTfLiteFloat32)
LT_TYPE(bool, kTfLiteBool)
LT_TYPE(int8_t, kTfLiteInt8)
LT_TYPE(uint8_t, kTfLiteUInt8)
LT_TYPE(int16_t, kTfLiteInt16)
LT_TYPE(uint16_t, kTfLiteUInt16)
LT_TYPE(int32_t, kTfLiteInt32)
LT_TYPE(uint32_t, kTfLiteUInt32)
LT_TYPE(int64_t, kTfLiteInt64)
LT_TYPE(uint64_t, kTfLiteUInt64)
#undef LT_TYPE

inline int ElementCount(const TfLiteIntArray &dims)
{
    int count = 1;
    for (int i = 0; i < dims.size; i++) {
        count *= dims.data[i];
    }
    return count;
}

/* One instance of a network, in `arena` or in that of `allocator`. */
class MicroInterpreter {
public:
    MicroInterpreter(const Model *model, const MicroOpResolver &, uint8_t *arena, size_t size,
                     MicroResourceVariables * = nullptr, MicroProfilerInterface * = nullptr,
                     bool preserve_all_tensors = false)
        : model_(model), own_(arena, size), allocator_(&own_), preserve_(preserve_all_tensors)
    {
    }

    MicroInterpreter(const Model *model, const MicroOpResolver &, MicroAllocator *allocator,
                     MicroResourceVariables * = nullptr, MicroProfilerInterface * = nullptr)
        : model_(model), own_(nullptr, 0), allocator_(allocator), preserve_(false)
    {
    }

    MicroInterpreter(const MicroInterpreter &) = delete;
    MicroInterpreter &operator=(const MicroInterpreter &) = delete;

    /* Returns kTfLiteError, with a message, if there is no network, or too little memory. */
    TfLiteStatus AllocateTensors()
    {
        if (tensors_ != nullptr) {
            return kTfLiteOk;
        }
        if (initialization_status() != kTfLiteOk) {
            MicroPrintf("no network that lowtide compiled is where the model should be");
            return kTfLiteError;
        }
        if (preserve_ && !model_->preserves_inputs) {
            MicroPrintf("%s: preserve_all_tensors keeps inputs: compile the network with --preserve-input",
                        model_->name);
            return kTfLiteError;
        }
        if (allocator_ == nullptr) {
            MicroPrintf("%s: there is no tensor arena", model_->name);
            return kTfLiteError;
        }
        const size_t count = model_->inputs + model_->outputs;
        MicroAllocator all = *allocator_; /* which stays as it was if there is too little */
        void *arena = all.Lend(model_->arena_size, model_->arena_align);
        void *state = all.Keep(model_->state_size, model_->state_align);
        void *instance = all.Keep(model_->instance_size, alignof(uint64_t));
        void *tensors = all.Keep<TfLiteTensor>(count);
        if (!all.Fits()) {
            MicroPrintf("%s: the tensor arena has %u bytes and needs %u", model_->name,
                        static_cast<unsigned>(all.size()), static_cast<unsigned>(all.used_bytes()));
            return kTfLiteError;
        }
        if (model_->init(instance, arena, model_->arena_size, state, model_->state_size) != 0) {
            MicroPrintf("%s: the network cannot be set up", model_->name);
            return kTfLiteError;
        }
        *allocator_ = all;
        instance_ = instance;
        tensors_ = static_cast<TfLiteTensor *>(tensors);
        for (size_t i = 0; i < count; i++) {
            Describe(i);
        }
        return kTfLiteOk;
    }

    TfLiteStatus Invoke()
    {
        TF_LITE_ENSURE_STATUS(AllocateTensors());
        return model_->invoke(instance_) == 0 ? kTfLiteOk : kTfLiteError;
    }

    /* Sets the state to its initial values. */
    TfLiteStatus Reset()
    {
        TF_LITE_ENSURE_STATUS(AllocateTensors());
        return model_->reset(instance_) == 0 ? kTfLiteOk : kTfLiteError;
    }

    size_t inputs_size() const { return model_->inputs; }
    size_t outputs_size() const { return model_->outputs; }

    /* Returns null, with a message, if there is no such input, or before AllocateTensors(). */
    TfLiteTensor *input(size_t i) { return Tensor("input", i, 0, model_->inputs); }
    TfLiteTensor *output(size_t i) { return Tensor("output", i, model_->inputs, model_->outputs); }
    TfLiteTensor *input_tensor(size_t i) { return input(i); }
    TfLiteTensor *output_tensor(size_t i) { return output(i); }
    template <typename T>
    T *typed_input_tensor(int i)
    {
        return Typed<T>(input(static_cast<size_t>(i)));
    }
    template <typename T>
    T *typed_output_tensor(int i)
    {
        return Typed<T>(output(static_cast<size_t>(i)));
    }

    TfLiteStatus initialization_status() const
    {
        const bool fine = model_ != nullptr && model_->version() == TFLITE_SCHEMA_VERSION;
        return fine ? kTfLiteOk : kTfLiteError;
    }

    /* Bytes of an arena that is large enough at any address. */
    size_t arena_used_bytes() const { return allocator_ == nullptr ? 0 : allocator_->used_bytes(); }

private:
    template <typename T>
    static T *Typed(TfLiteTensor *tensor)
    {
        const bool fits = tensor != nullptr && tensor->type == typeToTfLiteType<T>();
        return fits ? GetTensorData<T>(tensor) : nullptr;
    }

    TfLiteTensor *Tensor(const char *what, size_t i, size_t first, size_t count)
    {
        if (tensors_ == nullptr || i >= count) {
            MicroPrintf("there is no %s %u%s", what, static_cast<unsigned>(i),
                        tensors_ == nullptr ? " before AllocateTensors()" : "");
            return nullptr;
        }
        return tensors_ + first + i;
    }

    void Describe(size_t i)
    {
        const lt_tflm_tensor &is = model_->tensors[i];
        TfLiteTensor made = TfLiteTensor();
        if (i < model_->inputs) {
            made.data.data = model_->input(instance_, static_cast<int>(i));
        } else {
            const int output = static_cast<int>(i - model_->inputs);
            made.data.data = const_cast<void *>(model_->output(instance_, output));
        }
        made.dims = const_cast<TfLiteIntArray *>(&is.dims);
        made.bytes = is.bytes;
        made.type = is.type;
        made.params = is.params;
        new (tensors_ + i) TfLiteTensor(made);
    }

    const Model *model_;
    MicroAllocator own_;
    MicroAllocator *allocator_;
    const bool preserve_;
    void *instance_ = nullptr;
    TfLiteTensor *tensors_ = nullptr;
};

} /* namespace tflite */

#endif
