"""`/metrics`, read by the official parser, and scraped by a real Prometheus that is asked for our series."""

import json
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from world import PATIENCE, World, until


def call(served, tool, arguments):
    """Calls a tool of the MCP server and returns its result."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "observe", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}}
    headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json",
               "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
               "Mcp-Method": "tools/call", "Mcp-Name": tool}
    request = urllib.request.Request(f"http://{served.address}/mcp", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        text = answer.read().decode()
    data = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
    message = json.loads(data[-1] if data else text)
    assert "result" in message, message
    return message["result"]


def read(served):
    """All samples by name and labels, as the official parser reads them."""
    families = list(text_string_to_metric_families(served.get("/metrics")))
    names = [family.name for family in families]
    assert len(names) == len(set(names)), f"a metric is begun twice: {names}"
    for family in families:
        assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families for sample in family.samples}


def check_parser(served):
    samples = read(served)
    tool = (("outcome", "done"), ("tool", "read_file"))
    expected = {
        ("updraft_runs_ended_total", (("status", "done"),)): 1,
        ("updraft_tool_calls_total", tool): 1,
        ("updraft_tool_calls_total", (("outcome", "failed"), ("tool", "read_file"))): 1,
        ("updraft_tool_call_duration_seconds_count", (("tool", "read_file"),)): 2,
        ("updraft_tokens_total", (("direction", "input"), ("model", "scripted"))): 400,
        ("updraft_turns_total", ()): 4,
        ("updraft_errors_total", (("at", "call"), ("kind", "tool"))): 1,
    }
    for key, value in expected.items():
        assert samples.get(key) == value, f"{key}: {samples.get(key)}, not {value}"
    for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"):
        assert samples[name, ()] > 0, name
    assert len(samples) < 200, f"{len(samples)} series for one run"
    print(f"  the official parser reads {len(samples)} series")


def check_prometheus(program, served, folder):
    (folder / "token").write_text(served.token)
    settings = {"global": {"scrape_interval": "1s"}, "scrape_configs": [
        {"job_name": "updraft", "authorization": {"credentials_file": str(folder / "token")},
         "static_configs": [{"targets": [served.address]}]},
        {"job_name": "stranger", "static_configs": [{"targets": [served.address]}]},
    ]}
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
    port_file = folder / "prometheus.log"
    with open(port_file, "w") as log:
        process = subprocess.Popen(
            [program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
             "--web.listen-address=127.0.0.1:0", "--log.format=json"], stderr=log, stdout=log)
    try:
        address = until(lambda: listening(process, port_file), "Prometheus to listen")

        def value(query):
            with urllib.request.urlopen(f"http://{address}/api/v1/query?query={urllib.parse.quote(query)}") as answer:
                result = json.load(answer)["data"]["result"]
            return float(result[0]["value"][1]) if result else None

        until(lambda: value('up{job="updraft"}') == 1, "up == 1")
        assert until(lambda: value('updraft_runs{status="done"}'), "our series") == 1
        assert value("sum(updraft_tool_calls_total)") == 2
        assert value("sum(updraft_tokens_total)") == 480
        quantile = value("histogram_quantile(0.9, sum by (le) (updraft_tool_call_duration_seconds_bucket))")
        assert quantile is not None and quantile >= 0, quantile
        assert until(lambda: value('up{job="stranger"}') == 0, "the scrape without a token to fail")
        print("  Prometheus scrapes us, and not without the token")
    finally:
        process.terminate()
        process.wait(PATIENCE)


def listening(process, log):
    """Where Prometheus listens: it does not say which free port it got, but the system knows."""
    assert process.poll() is None, log.read_text()
    sockets = {Path(f"/proc/{process.pid}/fd/{fd.name}").readlink().name for fd in Path(f"/proc/{process.pid}/fd").iterdir()
               if fd.is_symlink() and "socket:" in str(fd.readlink())}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            return f"127.0.0.1:{int(fields[1].split(':')[1], 16)}"
    return None


def check(updraft, prometheus):
    world = World(updraft)
    with world.serve() as served:
        result = call(served, "query", {"query": "Say what the file says"})
        assert not result.get("isError"), result
        check_parser(served)
        if prometheus:
            check_prometheus(prometheus, served, world.root)
        else:
            print("!!\n!! SKIP: Prometheus does not scrape us: it is not installed\n!!", file=sys.stderr)
        served.stop()
    world.close()
