"""All that other packages and users may import from here: traces as files, and their runs.

``names`` has what options and completion need, which imports nothing slow.
"""

from .astra.as_topology import load_fabric
from .astra.collectives.ends import collective_ends
from .astra.estimate import Inputs, JobRequest, TraceEstimate, estimate_jobs, estimate_traces
from .astra.files.groups import GROUPS_SCHEMA, check_members, check_names, load_groups
from .astra.files.network import NetworkFile, read_network
from .astra.files.system import SystemFile, load_system
from .astra.network import Dimension, Network
from .astra.timeline import node_names, trace_timeline
from .chakra.collective import to_goal
from .chakra.convert import convert
from .chakra.feeder import Feeder, named
from .chakra.files import VERSION, encode_for, read, read_tasks, write
from .chakra.goal import Operation, goal_text, to_traces
from .chakra.iteration_traces import iteration_traces
from .chakra.kinds import CollectiveType, NodeType
from .chakra.loggops import LogGops, estimate_schedule, simulate
from .chakra.node import Attr, Metadata, Node
from .chakra.partners import Partners
from .chakra.plane import plane_tasks
from .chakra.process_groups import ProcessGroups
from .chakra.schedules import read_schedule
from .chakra.stats import add_partners, check_node, measure
from .chakra.traces import ENDINGS, find_traces, groups_path, trace_path, trace_paths

__all__ = [
    "ENDINGS",
    "GROUPS_SCHEMA",
    "VERSION",
    "Attr",
    "CollectiveType",
    "Dimension",
    "Feeder",
    "Inputs",
    "JobRequest",
    "LogGops",
    "Metadata",
    "Network",
    "NetworkFile",
    "Node",
    "NodeType",
    "Operation",
    "Partners",
    "ProcessGroups",
    "SystemFile",
    "TraceEstimate",
    "add_partners",
    "check_members",
    "check_names",
    "check_node",
    "collective_ends",
    "convert",
    "encode_for",
    "estimate_jobs",
    "estimate_schedule",
    "estimate_traces",
    "find_traces",
    "goal_text",
    "groups_path",
    "iteration_traces",
    "load_fabric",
    "load_groups",
    "load_system",
    "measure",
    "named",
    "node_names",
    "plane_tasks",
    "read",
    "read_network",
    "read_schedule",
    "read_tasks",
    "simulate",
    "to_goal",
    "to_traces",
    "trace_path",
    "trace_paths",
    "trace_timeline",
    "write",
]
