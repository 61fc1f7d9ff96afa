"""The list of names that PyTorch has and that are not here: by place, why, and which."""

_GRAPHS = "programs are not translated into graphs: code runs as the Python that it is"
_ONE = "every process has the whole model, in one group (docs/distributed.md)"
_EXPORT = "models are not exported to ONNX"
_QUANTIZED = "dtypes are quantized here: tensor.to(\"nf4\"), docs/formats.md"
_GPU = "there is no GPU"
_DISPATCH = "calls are not handed over to Python"
_NESTED = "nested tensors are made, taken apart and padded"
_BUILD = "extensions of PyTorch's in C++ are not built; ops of one's own are library.custom_op"
_SPARSE = "sparse tensors are made by sparse_coo_tensor and sparse_csr_tensor; 2:4 weights by dyadic.prune"
_SHARDED = "tensors lie in one process's memory, whole"

ABSENT = {
    "": (
        "sparse tensors in blocks or by columns, quantized ones, complex halves, streams of accelerators and scripts are not here",
        "chalf complex32 qint32 qint8 quint2x4 quint4x2 quint8 Event PyTorchFileReader PyTorchFileWriter ScriptFunction ScriptModule ScriptObject Stream fork hspmm choose_qparams_optimized dequantize fake_quantize_per_channel_affine "
        "fake_quantize_per_tensor_affine quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic saddmm sspaddmm "
        "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor wait",
    ),
    "sparse": (_SPARSE, "DoubleTensor FloatTensor HalfTensor LongTensor SparseSemiStructuredTensor to_sparse_semi_structured"),
    "_C": (_GRAPHS, "Future Gradient _AutoDispatchBelowAutograd _ExcludeDispatchKeyGuard Graph Node Value Block ScriptModule ScriptFunction Argument FunctionSchema TracingState"),
    "_C._distributed_c10d": (_ONE, "Reducer Store ProcessGroup Work BroadcastOptions FakeProcessGroup"),
    "_custom_ops": ("library.custom_op is the newer one", "custom_op impl impl_abstract impl_backward impl_save_for_backward get_ctx"),
    "_export": (_GRAPHS, "export capture_pre_autograd_graph"),
    "_functorch.aot_autograd": (_GRAPHS, "aot_function aot_module aot_export_module make_boxed_compiler"),
    "_functorch.compilers": (_GRAPHS, "ts_compile memory_efficient_fusion"),
    "_inductor.compile_fx": (_GRAPHS, "compile_fx compile_fx_inner"),
    "_inductor.cpu_vec_isa": (_GRAPHS, "pick_vec_isa valid_vec_isa_list"),
    "_inductor.runtime.cache_dir_utils": (_GRAPHS, "cache_dir"),
    "_inductor.utils": (_GRAPHS, "run_and_get_code fresh_inductor_cache"),
    "_subclasses": (_DISPATCH, "FakeTensor FakeTensorMode CrossRefFakeMode"),
    "_subclasses.fake_tensor": (_DISPATCH, "FakeTensor FakeTensorMode unset_fake_temporarily"),
    "_subclasses.functional_tensor": (_DISPATCH, "FunctionalTensor FunctionalTensorMode"),
    "ao": (_QUANTIZED, ""),
    "ao.nn": (_QUANTIZED, ""),
    "ao.nn.quantized": (_QUANTIZED, "Conv1d Conv2d Conv3d Embedding EmbeddingBag FloatFunctional Linear Quantize DeQuantize"),
    "ao.nn.quantized.dynamic": (_QUANTIZED, "GRU GRUCell LSTM LSTMCell Linear RNNCell"),
    "ao.nn.intrinsic": (_QUANTIZED, "ConvBn1d ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU"),
    "ao.nn.qat": (_QUANTIZED, "Conv2d Linear Embedding"),
    "ao.quantization": (
        _QUANTIZED,
        "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver ObserverBase "
        "PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping QuantStub QuantWrapper convert default_dynamic_qconfig "
        "default_observer default_per_channel_weight_observer default_qconfig default_weight_observer disable_observer enable_fake_quant "
        "float16_dynamic_qconfig fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig "
        "get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_qat swap_module",
    ),
    "ao.quantization.fx": (_QUANTIZED, "prepare convert"),
    "ao.quantization.fx._decomposed": (_QUANTIZED, "quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel"),
    "ao.quantization.observer": (_QUANTIZED, "HistogramObserver MinMaxObserver ObserverBase PerChannelMinMaxObserver"),
    "ao.quantization.quantize_fx": (_QUANTIZED, "convert_fx fuse_fx prepare_fx prepare_qat_fx"),
    "ao.quantization.quantize_pt2e": (_QUANTIZED, "convert_pt2e prepare_pt2e prepare_qat_pt2e"),
    "quantization": (
        _QUANTIZED,
        "DeQuantStub FakeQuantize FakeQuantizeBase ObserverBase QConfig QuantStub QuantWrapper convert default_qconfig fuse_modules "
        "get_default_qat_qconfig get_default_qconfig prepare prepare_qat quantize quantize_dynamic",
    ),
    "quantization.quantize_fx": (_QUANTIZED, "convert_fx fuse_fx prepare_fx prepare_qat_fx"),
    "distributed": (
        _ONE,
        "Backend DistBackendError FileStore GradBucket HashStore P2POp PrefixStore ProcessGroup Store TCPStore all_gather_coalesced "
        "all_reduce_coalesced batch_isend_irecv get_group_rank init_device_mesh irecv isend new_subgroups DeviceMesh",
    ),
    "distributed._composable": (_ONE, "checkpoint fully_shard replicate"),
    "distributed._composable.fsdp": (_ONE, "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard register_fsdp_forward_method"),
    "distributed._functional_collectives": (_ONE, "all_gather_tensor all_reduce all_to_all_single reduce_scatter_tensor wait_tensor AsyncCollectiveTensor"),
    "distributed._shard.sharded_tensor": (_SHARDED, "ShardedTensor Shard"),
    "distributed._tensor": (_SHARDED, "DTensor DeviceMesh Partial Placement Replicate Shard distribute_module distribute_tensor init_device_mesh"),
    "distributed.algorithms": (_ONE, ""),
    "distributed.algorithms._checkpoint.checkpoint_wrapper": (
        _ONE,
        "CheckpointImpl CheckpointWrapper OffloadWrapper apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
    ),
    "distributed.algorithms.ddp_comm_hooks": (_ONE, "DDPCommHookType register_ddp_comm_hook"),
    "distributed.algorithms.ddp_comm_hooks.default_hooks": (_ONE, "allreduce_hook bf16_compress_hook fp16_compress_hook"),
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": (_ONE, "PostLocalSGDState post_localSGD_hook"),
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": (_ONE, "PowerSGDState powerSGD_hook"),
    "distributed.algorithms.join": (_ONE, "Join Joinable JoinHook"),
    "distributed.algorithms.model_averaging": (_ONE, ""),
    "distributed.algorithms.model_averaging.averagers": (_ONE, "ModelAverager PeriodicModelAverager"),
    "distributed.checkpoint": (
        _ONE,
        "DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter HuggingFaceStorageReader HuggingFaceStorageWriter "
        "LoadPlanner SavePlanner Stateful async_save load load_state_dict save save_state_dict",
    ),
    "distributed.checkpoint._consolidate_hf_safetensors": (_ONE, "consolidate_safetensors_files"),
    "distributed.checkpoint.default_planner": (_ONE, "DefaultLoadPlanner DefaultSavePlanner"),
    "distributed.checkpoint.format_utils": (_ONE, "_EmptyStateDictLoadPlanner dcp_to_torch_save torch_save_to_dcp"),
    "distributed.checkpoint.hf_storage": (_ONE, "HuggingFaceStorageReader HuggingFaceStorageWriter"),
    "distributed.checkpoint.metadata": (_ONE, "Metadata STATE_DICT_TYPE TensorStorageMetadata"),
    "distributed.checkpoint.optimizer": (_ONE, "load_sharded_optimizer_state_dict"),
    "distributed.checkpoint.state_dict": (
        _ONE,
        "StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict",
    ),
    "distributed.checkpoint.state_dict_loader": (_ONE, "_load_state_dict load load_state_dict"),
    "distributed.checkpoint.state_dict_saver": (_ONE, "async_save save save_state_dict"),
    "distributed.checkpoint.stateful": (_ONE, "Stateful"),
    "distributed.constants": (_ONE, ""),
    "distributed.device_mesh": (_ONE, "DeviceMesh _mesh_resources init_device_mesh"),
    "distributed.distributed_c10d": (_ONE, "ProcessGroup Store _get_default_group _get_default_store"),
    "distributed.elastic.multiprocessing.errors": (_ONE, "ChildFailedError ErrorHandler"),
    "distributed.fsdp": (
        _ONE,
        "BackwardPrefetch CPUOffload CPUOffloadPolicy FullOptimStateDictConfig FullStateDictConfig "
        "LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy OffloadPolicy OptimStateKeyType "
        "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictType "
        "register_fsdp_forward_method",
    ),
    "distributed.fsdp._runtime_utils": (_ONE, "_lazy_init"),
    "distributed.fsdp.api": (_ONE, "FullOptimStateDictConfig FullStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig StateDictType"),
    "distributed.fsdp.fully_sharded_data_parallel": (
        _ONE,
        "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel MixedPrecision "
        "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictType",
    ),
    "distributed.fsdp.sharded_grad_scaler": (_ONE, "ShardedGradScaler"),
    "distributed.fsdp.wrap": (
        _ONE,
        "ModuleWrapPolicy CustomPolicy _Policy _or_policy _recursive_wrap always_wrap_policy enable_wrap lambda_auto_wrap_policy "
        "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
    ),
    "distributed.launcher.api": (_ONE, "LaunchConfig elastic_launch launch_agent"),
    "distributed.nn": (_ONE, "all_gather all_reduce all_to_all broadcast gather reduce reduce_scatter RemoteModule"),
    "distributed.nn.functional": (_ONE, "all_gather all_reduce all_to_all broadcast gather reduce reduce_scatter"),
    "distributed.optim": (_ONE, "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer"),
    "distributed.pipelining": (_ONE, "PipelineStage Pipe ScheduleGPipe Schedule1F1B SplitPoint pipe_split pipeline"),
    "distributed.rpc": (_ONE, "RRef init_rpc remote rpc_async rpc_sync shutdown"),
    "distributed.run": (_ONE, "get_args_parser main run config_from_args"),
    "distributed.tensor": (
        _SHARDED,
        "DTensor DeviceMesh Partial Placement Replicate Shard distribute_module distribute_tensor empty full init_device_mesh ones rand randn zeros",
    ),
    "distributed.tensor._utils": (_SHARDED, "compute_local_shape_and_global_offset compute_global_tensor_info"),
    "distributed.tensor.device_mesh": (_SHARDED, "DeviceMesh init_device_mesh"),
    "distributed.tensor.experimental": (_SHARDED, "context_parallel implicit_replication local_map"),
    "distributed.tensor.experimental._attention": (_SHARDED, "context_parallel_unshard set_rotate_method"),
    "distributed.tensor.parallel": (
        _SHARDED,
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel SequenceParallel loss_parallel parallelize_module",
    ),
    "distributed.tensor.placement_types": (_SHARDED, "Partial Placement Replicate Shard"),
    "distributed.utils": (_ONE, "_sync_module_states _sync_params_and_buffers _verify_param_shape_across_processes"),
    "export": (_GRAPHS, "Dim ExportedProgram ExportGraphSignature ModuleCallSignature ShapesCollection draft_export export load register_dataclass save unflatten"),
    "export._trace": (_GRAPHS, "_export"),
    "export.decomp_utils": (_GRAPHS, "CustomDecompTable"),
    "export.dynamic_shapes": (_GRAPHS, "Dim _Dim ShapesCollection"),
    "fx": (_GRAPHS, "CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg replace_pattern symbolic_trace"),
    "fx._pytree": (_GRAPHS, "register_pytree_flatten_spec tree_flatten_spec"),
    "fx._symbolic_trace": (_GRAPHS, "Tracer symbolic_trace PHBase"),
    "fx.experimental": (_GRAPHS, ""),
    "fx.experimental.proxy_tensor": (_GRAPHS, "make_fx maybe_disable_fake_tensor_mode ProxyTorchDispatchMode"),
    "fx.experimental.optimization": (_GRAPHS, "fuse optimize_for_inference"),
    "fx.experimental.symbolic_shapes": (_GRAPHS, "DimDynamic ShapeEnv StatelessSymbolicContext GuardOnDataDependentSymNode"),
    "fx.graph": (_GRAPHS, "CodeGen Graph"),
    "fx.graph_module": (_GRAPHS, "GraphModule _CodeOnlyModule _copy_attr _USER_PRESERVED_ATTRIBUTES_KEY"),
    "fx.interpreter": (_GRAPHS, "Interpreter Transformer"),
    "fx.node": (_GRAPHS, "Argument Node Target map_arg map_aggregate"),
    "fx.passes": (_GRAPHS, ""),
    "fx.passes.graph_drawer": (_GRAPHS, "FxGraphDrawer"),
    "fx.passes.infra.pass_base": (_GRAPHS, "PassBase PassResult"),
    "fx.passes.shape_prop": (_GRAPHS, "ShapeProp TensorMetadata"),
    "fx.proxy": (_GRAPHS, "Attribute ParameterProxy Proxy TraceError"),
    "fx.traceback": (_GRAPHS, "annotate preserve_node_meta"),
    "jit": (
        _GRAPHS,
        "CompilationUnit ONNXTracedModule RecursiveScriptModule ScriptFunction ScriptModule TopLevelTracedModule TracerWarning "
        "freeze fuser _get_trace_graph load optimize_for_inference optimized_execution save set_fusion_strategy trace_module",
    ),
    "nested": (_NESTED, "masked_select narrow"),
    "numa.binding": (_ONE, "AffinityMode NumaOptions"),
    "onnx": (
        _EXPORT,
        "ExportOptions ONNXProgram ONNXRuntimeOptions OnnxExporterError dynamo_export enable_fake_mode export "
        "select_model_mode_for_export OperatorExportTypes TensorProtoDataType TrainingMode",
    ),
    "onnx._internal": (_EXPORT, ""),
    "onnx._internal.exporter": (_EXPORT, "ONNXProgram"),
    "onnx.operators": (_EXPORT, "reshape_from_tensor_shape shape_as_tensor"),
    "onnx.symbolic_helper": (_EXPORT, "_get_const _maybe_get_const _unimplemented"),
    "onnx.symbolic_opset9": (_EXPORT, "add expand linalg_norm mul"),
    "onnx.symbolic_opset11": (_EXPORT, "add expand mul"),
    "onnx.symbolic_opset12": (_EXPORT, "add expand mul"),
    "onnx.utils": (_EXPORT, "export select_model_mode_for_export"),
    "package": ("code is not packed with models: save state_dict()", "PackageExporter PackageImporter"),
    "utils._mode_utils": (_DISPATCH, "no_dispatch"),
    "utils._python_dispatch": (_DISPATCH, "TorchDispatchMode"),
    "utils._sympy": (_GRAPHS, ""),
    "utils._sympy.numbers": (_GRAPHS, "IntInfinity NegativeIntInfinity"),
    "utils._sympy.value_ranges": (_GRAPHS, "ValueRanges bound_sympy"),
    "utils.bundled_inputs": (_GRAPHS, "augment_model_with_bundled_inputs"),
    "utils.cpp_extension": (
        _BUILD,
        "BuildExtension CUDAExtension CppExtension IS_HIP_EXTENSION include_paths library_paths load load_inline verify_ninja_availability",
    ),
    "utils.mobile_optimizer": (_GRAPHS, "MobileOptimizerType optimize_for_mobile"),
}
