"""A small run of PyTorch for tests: its execution trace and its Kineto trace."""

import json
from typing import Any

__all__ = ["GROUPS", "event", "execution_trace", "kineto_trace", "operator"]

THREAD = "[pytorch|profiler|execution_trace|thread]"
GROUPS = [
    {"pg_name": "0", "ranks": [], "group_size": 2},
    {"pg_name": "7", "ranks": [0, 1], "group_size": 2},
]
TENSOR = [1, 2, 0, 1024, 4, "cuda:0"]


def operator(number: int, name: str, parent: int, rf_id: int, **more: Any) -> dict[str, Any]:
    attrs = [{"name": "rf_id", "type": "uint64", "value": rf_id}]
    attrs += [{"name": name, "type": "string", "value": more[name]} for name in more.get("own", ())]
    inputs = {"values": [], "shapes": [], "types": []}
    return {
        "id": number,
        "name": name,
        "ctrl_deps": parent,
        "inputs": {**inputs, **more.get("inputs", {})},
        "outputs": inputs,
        "attrs": attrs,
    }


def execution_trace() -> dict[str, Any]:
    """Return a product, an all-reduce in another stream, and a sum in a second thread."""
    listed = {"values": [json.dumps(GROUPS)], "shapes": [[]], "types": ["String"]}
    reduced = {"values": [[TENSOR], ["7", "tp"]], "types": ["GenericList[Tensor(float)]", "Tuple"]}
    return {
        "schema": "1.1.1-chakra.0.0.4",
        "pid": 17,
        "time": "2025-01-01 00:00:00",
        "start_ts": 1,
        "nodes": [
            operator(1, "[pytorch|profiler|execution_trace|process]", 1, 0),
            operator(2, THREAD, 1, 0),
            operator(3, "## process_group:init ##", 2, 1, inputs=listed),
            operator(4, "aten::matmul", 2, 2),
            operator(5, "aten::mm", 4, 3),
            operator(6, "nccl:all_reduce", 2, 4),
            operator(7, "record_param_comms", 6, 5, inputs=reduced),
            operator(8, THREAD, 1, 0),
            operator(9, "aten::add", 8, 6),
        ],
        "finish_ts": 2,
    }


def event(category: str, name: str, begin: float, duration: float, **args: Any) -> dict[str, Any]:
    named = {key.replace("_", " "): value for key, value in args.items() if key != "tid"}
    thread = args.get("tid", 17)
    return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": duration} | {
        "tid": thread,
        "pid": 17,
        "args": named,
    }


def kineto_trace() -> dict[str, Any]:
    """Return what the operators took, and three kernels in two streams."""
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    wait = {"stream": 7, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 103}
    return {
        "schemaVersion": 1,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 17, "args": {"name": "python"}},
            event("user_annotation", "ProfilerStep#0", 0, 9000),
            event("cpu_op", "aten::matmul", 100, 50, Record_function_id=2),
            event("cpu_op", "aten::mm", 110, 30.5, Record_function_id=3),
            event("cuda_runtime", "cudaLaunchKernel", 120, 5, correlation=101),
            event("user_annotation", "nccl:all_reduce", 200, 40, Record_function_id=4),
            event("cpu_op", "record_param_comms", 205, 30, Record_function_id=5),
            event("cuda_runtime", "cudaLaunchKernelExC", 210, 5, correlation=102),
            event("cuda_runtime", "cudaEventRecord", 220, 1, correlation=103),
            event("cuda_runtime", "cudaStreamWaitEvent", 230, 1, correlation=104),
            event("cpu_op", "aten::add", 5000, 20, Record_function_id=6, tid=18),
            event("cuda_runtime", "cudaLaunchKernel", 5010, 5, correlation=105, tid=18),
            event("kernel", "gemm", 300, 80.25, correlation=101, stream=7, tid=7),
            event("kernel", nccl, 310, 500, correlation=102, stream=20, tid=20),
            event("kernel", "add", 900, 10, correlation=105, stream=7, tid=7),
            {
                **event("cuda_sync", "Stream Wait Event", 231, 0),
                "args": {**wait, "correlation": 104},
            },
        ],
    }
