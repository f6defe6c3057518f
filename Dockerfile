# Updraft as an image: built in one stage, run in another that holds the program and what agents' commands commonly need.
#
#   docker build -t updraft .
#   docker run --rm -it -v updraft-data:/data -v "$PWD:/workspace" updraft run "What does this project do?"
#
# docs/install.md says how the page is reached, and what the sandbox needs inside of a container.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist -p updraft

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git python3 \
    && rm -rf /var/lib/apt/lists/*
# Files in /workspace belong to this user; `--build-arg UID=$(id -u)` makes them yours.
ARG UID=10001
RUN useradd --uid "$UID" --create-home updraft \
    && install -d -o updraft -g updraft -m 0700 /data /workspace
COPY --from=build /src/target/dist/updraft /usr/local/bin/updraft
COPY LICENSE deploy/env.sample /usr/local/share/doc/updraft/
USER updraft
# The journal, settings and the token, which outlive the container.
ENV UPDRAFT_HOME=/data
VOLUME ["/data"]
WORKDIR /workspace
EXPOSE 7717
ENTRYPOINT ["updraft"]
CMD ["serve"]
