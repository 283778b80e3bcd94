package dev.isthmus.gateway.settings;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Configurations for tests: valid ones, and ones with a malformed value. */
final class ConfigSamples {
    static final String FULL_MODEL = """
            upstreams:
              t: {protocol: grpc, endpoints: ["a:1"]}
              m: {protocol: rest, endpoints: ["b:1"]}
            local: {embedded_models: true}
            models:
              resnet:
                targets:
                  - {name: stable, upstream: t, model: resnet50, version: 3, weight: 90}
                  - {name: canary, upstream: m, version: "4", weight: 10}
                aliases: [resnet-prod]
                versions: {stable: 3, canary: "4"}
                default_version: stable
                explicit_version: override
                rules:
                  - {headers: {X-Canary: yes}, parameters: {tier: "gold*"}, target: canary}
                sticky: {header: X-User}
                shadow:
                  - {name: canary, upstream: t, model: next, sample: 10%, compare: true, rtol: 0.01, atol: 0.003,
                     timeout: 2s, max_in_flight: 8}
                ramp:
                  target: canary
                  steps: [1%, 50%, 100%]
                  interval: 10m
                  minimum_requests: 50
                  max_error_rate: 2%
                  max_latency_ratio: 2.5
                  max_difference: 0.001
                fallback: {upstream: local, model: digits}
                rates:
                  - {header: x-api-key, requests_per_second: 100, bytes_per_second: 10MiB, burst: 2s}
                timeout: 10s
                ready: quorum
                validate: strict
                objectives: {availability: 99.9%, latency: 95%, latency_within: 250ms}
                batching: {max_batch_size: 16, max_queue_delay_microseconds: 500, max_bytes: 2MiB}
                cache: {ttl: 30s, max_bytes: 32MiB, max_response: 2MiB, max_request: 4MiB, parameters: [tier],
                        headers: [X-Tenant], caller: false, singleflight: false}
                deterministic: false
            """;

    static final String FULL_UPSTREAM = """
            upstreams:
              t:
                protocol: grpc
                endpoints: ["10.0.0.1:8001", "srv:_grpc._tcp.triton.svc", "k8s:ml/triton:grpc", "k8s:ml/spot"]
                host: triton.example:8443
                headers: {X-Key: k}
                dns_refresh: 5s
                dialect: triton
                try_timeout: 2s
                max_requests: 50
                discover: true
                adaptive_concurrency: {min: 2, max: 60, tolerance: 50%, measure_interval: 1m}
                hedging: {quantile: 90%, budget: 10%, min_delay: 2ms}
                queue: {max_waiting: 30, max_waiting_per_caller: 20, max_wait: 500ms, reserved: 5%, weights: {alice: 4},
                  group_weights: {batch: 2}, shares: {bert: 3}, priority_levels: 5}
                balance: {policy: queue_aware, slow_start: 30s, metrics_port: 8003}
                checks: {interval: 2s, timeout: 3s, unhealthy_after: 4, healthy_after: 5}
                outliers:
                  {consecutive_failures: 7, ejection: 9s, max_ejected: 25%, panic_threshold: 10%, error_rate:
                    {interval: 20s, threshold: 60%, deviations: 2.5, minimum_calls: 99, minimum_servers: 3}}
                retry: {retries: 2, on: [lost, timeout], budget: 0.5%, max_body: 1MiB}
                breaker: {failure_rate: 100%, window: 10, minimum_calls: 5, open: 1m}
                http2_abuse: {control_frame_burst: 1, control_frame_rate: 2, control_frames_per_data: 3, max_queued_frames: 4}
            """;

    static final List<String> GOOD = List.of(
            FULL_MODEL,
            FULL_UPSTREAM,
            "{local: {embedded_models: true}, default_upstream: local}",
            "{admin: {host: localhost}, local: {embedded_models: true}, default_upstream: local}",
            "{admin: {host: '::1', port: 0}, local: {embedded_models: true}, default_upstream: local}",
            "{admin: {allowed_hosts: [ops.example, '*.fleet.example', '10.0.0.1', '::1']}, "
                    + "local: {embedded_models: true}, default_upstream: local}",
            "{admin: {allowed_hosts: ['*']}, local: {embedded_models: true}, default_upstream: local}",
            "{local: {embedded_models: true}, models: {'d*-*': {upstream: local}, digits: {upstream: local}}}",
            "{local: {embedded_models: true}, models: {d: {upstream: local, default_version: latest}}}",
            "{local: {embedded_models: true}, models: {d: {upstream: local, default_version: v1.2}}}",
            "{answers: {non_finite: null, compress_above: 100}, local: {embedded_models: true}, default_upstream: local}",
            "{health: {warm_up: 0s}, local: {embedded_models: true}, default_upstream: local}",
            "{headers: {forward: [], return: [a]}, local: {embedded_models: true}, default_upstream: local}",
            "{upstreams: {t: {protocol: rest, endpoints: ['a:1'], binary_tensor_data: true, retry: {retries: 0}, "
                    + "balance: {slow_start: 0s}}}, default_upstream: t}",
            "{upstream_defaults: {protocol: rest, timeout: 5s, retry: {retries: 0}}, "
                    + "upstreams: {t: {endpoints: ['a:1'], retry: {budget: 1%}}}, default_upstream: t}",
            "{upstream_defaults: {protocol: rest, endpoints: ['a:1']}, upstreams: {t: }, default_upstream: t}");

    private ConfigSamples() {}

    static Stream<Arguments> malformed() {
        return Stream.of(
                arguments(upstream("timeout: 0s"), "a duration such as 500ms, 1.5s, 1m30s is expected, got '0s'"),
                arguments(upstream("timeout: 5"), "a duration such as 500ms, 1.5s, 1m30s is expected, got '5'"),
                arguments(
                        upstream("timeout: [1s]"),
                        "timeout: a duration such as 500ms, 1.5s, 1m30s is expected, got a list"),
                arguments(
                        upstream("max_requests: 0"),
                        "max_requests: a whole number from 1 to 1000000 is expected, got '0'"),
                arguments(
                        upstream("adaptive_concurrency: {min: 0}"),
                        "adaptive_concurrency: min: a whole number from 1 to 1000000 is expected, got '0'"),
                arguments(upstream("max_requests: 1.5"), "expected, got '1.5'"),
                arguments(
                        upstream("outliers: {max_ejected: 101%}"),
                        "upstream 't': outliers: max_ejected: a share such as 20% or 0.5% is expected, got '101%'"),
                arguments(
                        upstream("outliers: {error_rate: {minimum_servers: 1}}"),
                        "error_rate: minimum_servers: a whole number from 2 to 10000 is expected, got '1'"),
                arguments(upstream("outliers: {error_rate: {threshold: 101%}}"), "a share such as 20%"),
                arguments(upstream("outliers: {error_rate: {deviations: -1}}"), "deviations: "),
                arguments(upstream("outliers: {error_rate: {interval: 0s}}"), "interval: a duration"),
                arguments(upstream("outliers: {max_ejected: 0.5}"), "is expected, got '0.5'"),
                arguments(upstream("retry: {on: [unset]}"), "retry: on: one of unsent, unavailable, lost, timeout is"),
                arguments(upstream("retry: {max_body: 2TiB}"), "is expected, got '2TiB'"),
                arguments(upstream("balance: {polcy: peak_ewma}"), "in upstream 't': balance - did you mean 'policy'?"),
                arguments(
                        upstream("http2_abuse: {stream_reset_burst: 1}"),
                        "unknown key 'stream_reset_burst' in upstream 't': http2_abuse"),
                arguments("{upstream_defaults: {timeout: 5}}", "upstream_defaults: timeout: a duration such as"),
                arguments("{upstream_defaults: {model: a}}", "unknown key 'model' in upstream_defaults"),
                arguments(upstream("balance: 5"), "upstream 't': balance: an object is expected, got '5'"),
                arguments(upstream("shared_memory: 1"), "true or false is expected, got '1'"),
                arguments(
                        "upstreams: {t: {protocol: grpc, endpoints: ['srv:']}}",
                        "srv:NAME, or k8s:NAMESPACE/SERVICE:PORT-NAME is expected, got 'srv:'"),
                arguments(
                        "upstreams: {t: {protocol: grpc, endpoints: ['k8s:triton:grpc']}}",
                        "or k8s:NAMESPACE/SERVICE:PORT-NAME is expected, got 'k8s:triton:grpc'"),
                arguments(
                        "upstreams: {t: {protocol: grpc, endpoints: ['k8s:ml/triton:8001']}}",
                        "or k8s:NAMESPACE/SERVICE:PORT-NAME is expected, got 'k8s:ml/triton:8001'"),
                arguments(
                        "upstreams: {t: {protocol: grpc, endpoints: ['a']}}", "host:port with a port from 1 to 65535"),
                arguments("upstreams: {t: {endpoints: ['a:1']}}", "upstream 't': 'protocol' is missing"),
                arguments(
                        "answers: {not_ready_status: 404}",
                        "answers: not_ready_status: 400 or 503 is expected, got '404'"),
                arguments(
                        "admin: {allowed_hosts: ['a.*']}",
                        "admin: allowed_host: a host, *.SUFFIX, or * for any is expected, got 'a.*'"),
                arguments("headers: {forward: ['a b']}", "headers: forward: a header name, or a prefix"),
                arguments("validate: sometimes", "validate: one of strict, report, off is expected, got 'sometimes'"),
                arguments("health: {server_ready: most}", "one of all, any, models is expected, got 'most'"),
                arguments(model("targets: [{weight: 1}]"), "model 'm': target: 'upstream' is missing"),
                arguments(model("ramp: {target: a, steps: []}"), "ramp: steps: at least one entry is expected"),
                arguments(model("ramp: {steps: [1%]}"), "model 'm': ramp: 'target' is missing"),
                arguments(
                        model("shadow: [{upstream: a, compare: true, rtol: -1}]"),
                        "a number from 0 to 1000000000 is expected"),
                arguments(model("ramp: {target: a, max_latency_ratio: fast}"), "a number from 0 to 1000 is expected"),
                arguments(model("sticky: {header: 'x y'}"), "model 'm': sticky: header: a header name is expected"),
                arguments(model("rules: [{headers: {'x y': a}, target: t}]"), "headers: a name is expected as the key"),
                arguments(model("versions: {stable: [1]}"), "version 'stable': text is expected, got a list"),
                arguments(model("aliases: ['']"), "model 'm': alias: text is expected, got ''"));
    }

    /** An upstream {@code t} with one more key. */
    static String upstream(String key) {
        return "{upstreams: {t: {protocol: grpc, endpoints: ['a:1'], " + key + "}}, default_upstream: t}";
    }

    /** A model {@code m} on the upstream {@code t} with one more key. */
    static String model(String key) {
        return "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}, u: {protocol: grpc, endpoints: ['b:1']}},"
                + " models: {m: {upstream: t, " + key + "}}}";
    }

    /** A model {@code m} with the targets {@code a} and {@code b} and one more key. */
    static String split(String key) {
        return model(key).replace("upstream: t, ", "targets: [{name: a, upstream: t}, {name: b, upstream: u}], ");
    }
}
