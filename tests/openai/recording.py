"""What went over the wire: every answer of the server, as it came, for judges that look at it afterwards."""

import json

import httpx2


class Exchange:
    """One request and what came back."""

    def __init__(self, request, response):
        self.method, self.path, self.status = request.method, request.url.path, response.status_code
        self.kind = response.headers.get("content-type", "").split(";")[0]
        self.raw = b""

    def body(self):
        return json.loads(self.raw)

    def events(self):
        """The data of server-sent events, without the mark at the end; what was cut off in the middle is left out."""
        frames = self.raw.decode().split("\n\n")[:-1]
        lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
        return [json.loads(line[6:]) for line in lines if line != "data: [DONE]"]


class RecordedStream(httpx2.SyncByteStream):
    def __init__(self, stream, exchange):
        self.stream, self.exchange = stream, exchange

    def __iter__(self):
        for piece in self.stream:
            self.exchange.raw += piece
            yield piece

    def close(self):
        self.stream.close()


class Recorder(httpx2.HTTPTransport):
    """A transport that remembers all exchanges."""

    def __init__(self):
        super().__init__()
        self.exchanges = []

    def handle_request(self, request):
        response = super().handle_request(request)
        exchange = Exchange(request, response)
        self.exchanges.append(exchange)
        response.stream = RecordedStream(response.stream, exchange)
        return response
