# The starter program: a worker by default, and every other verb.
#
#   docker build --tag everturn/starter:0.1.0 .

# The Go version is at least the one of go.mod; a test compares them.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/starter ./cmd/starter

FROM alpine:3.22.2
RUN apk add --no-cache ca-certificates \
 && adduser -D -H -u 65532 agent \
 && mkdir -p /data/store /data/workspace /data/home \
 && chown -R agent:agent /data
COPY --from=build /out/starter /usr/local/bin/starter
USER 65532:65532
ENV EVERTURN_STORE=/data/store EVERTURN_WORKSPACE=/data/workspace EVERTURN_HOME=/data/home
VOLUME /data
ENTRYPOINT ["starter"]
CMD ["worker"]
