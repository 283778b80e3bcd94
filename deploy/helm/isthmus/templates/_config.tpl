{{/* The port of the first listener. */}}
{{- define "isthmus.port" -}}
{{- if not .Values.config.listeners }}{{ fail "config.listeners: a listener is expected" }}{{ end }}
{{- (first .Values.config.listeners).port | default 8080 }}
{{- end }}

{{/* https if the first listener has TLS, and http otherwise. */}}
{{- define "isthmus.scheme" -}}
{{- ternary "https" "http" (hasKey (first .Values.config.listeners) "tls") }}
{{- end }}

{{/* The listeners after the first that other hosts can reach: a list of name, port, protocol, and whether they are for operators. */}}
{{- define "isthmus.furtherPorts" -}}
{{- $ports := list }}
{{- $seen := list (include "isthmus.port" . | int) }}
{{- range include "isthmus.listeners" . | fromYamlArray }}
{{- $loopback := or (hasPrefix "127." .host) (has .host (list "localhost" "::1")) }}
{{- $port := .port | default 8080 | int }}
{{- if not (or $loopback (has $port $seen)) }}
{{- $protocol := ternary "https" "kubernetes.io/h2c" (hasKey . "tls") }}
{{- $ports = append $ports (dict "name" (printf "http-%d" $port) "port" $port "protocol" $protocol "operators" (eq (.management | default "deny") "allow")) }}
{{- end }}
{{- $seen = append $seen $port }}
{{- end }}
{{- toYaml $ports }}
{{- end }}

{{/* The namespaces whose InferenceServices are discovered, separated by spaces. */}}
{{- define "isthmus.kserveNamespaces" -}}
{{- $namespaces := list }}
{{- range (.Values.config.discover | default dict).kserve }}{{ $namespaces = append $namespaces .namespace }}{{ end }}
{{- $namespaces | uniq | sortAlpha | join " " }}
{{- end }}

{{/* These, and the namespaces of the Services among the endpoints, separated by spaces. */}}
{{- define "isthmus.watchedNamespaces" -}}
{{- $namespaces := splitList " " (include "isthmus.kserveNamespaces" .) }}
{{- $upstreams := append (values (.Values.config.upstreams | default dict)) (.Values.config.upstream_defaults | default dict) }}
{{- range $upstreams }}
{{- range .endpoints }}
{{- if hasPrefix "k8s:" . }}{{ $namespaces = append $namespaces (. | trimPrefix "k8s:" | splitList "/" | first) }}{{ end }}
{{- end }}
{{- end }}
{{- without $namespaces "" | uniq | sortAlpha | join " " }}
{{- end }}

{{/* The listeners, on all addresses unless they say otherwise; the probes and the Service must reach the first one. */}}
{{- define "isthmus.listeners" -}}
{{- $listeners := list }}
{{- range $i, $listener := .Values.config.listeners }}
{{- $listener = merge (dict) $listener (dict "host" "0.0.0.0") }}
{{- $loopback := or (hasPrefix "127." $listener.host) (has $listener.host (list "localhost" "::1")) }}
{{- if and (eq $i 0) $loopback }}{{ fail (printf "config.listeners[0].host: an address that the probes reach is expected, got '%s'" $listener.host) }}{{ end }}
{{- if not (or $loopback $.Values.config.authentication (eq ($listener.access | default "") "open")) }}
{{- fail (printf "config.listeners[%d]: a section 'authentication' or 'access: open' is expected" $i) }}
{{- end }}
{{- $listeners = append $listeners $listener }}
{{- end }}
{{- toYaml $listeners }}
{{- end }}

{{/* The configuration, with what the chart sets. */}}
{{- define "isthmus.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config "listeners" (include "isthmus.listeners" . | fromYamlArray) }}
{{- if $config.drain }}{{ fail "config.drain: set 'drain' of the chart, from which the pod's grace period follows" }}{{ end }}
{{- $_ := set $config "drain" (dict "delay" (printf "%vs" .Values.drain.delaySeconds) "timeout" (printf "%vs" .Values.drain.timeoutSeconds)) }}
{{- $_ := set $config "ramps" (merge (dict) ($config.ramps | default dict) (dict "state_file" "/var/lib/isthmus/ramps.json")) }}
{{- if not (or $config.upstreams $config.local $config.discover) }}
{{- $_ := set $config "local" (dict "embedded_models" true) }}
{{- $_ := set $config "default_upstream" "local" }}
{{- end }}
{{- if .Values.metrics.enabled }}
{{- $token := printf "/etc/isthmus/metrics/%s" .Values.metrics.token.key }}
{{- $own := $config.admin | default dict }}
{{- $admin := dict "host" "0.0.0.0" "port" .Values.metrics.port "token_file" $token }}
{{- range $key, $value := $admin }}
{{- if hasKey $own $key }}{{ fail (printf "config.admin.%s: the chart sets it with metrics.enabled" $key) }}{{ end }}
{{- end }}
{{- if .Values.metrics.peers }}
{{- $pods := printf "%s-metrics:%d" (include "isthmus.name" .) (int .Values.metrics.port) }}
{{- $_ := set $admin "peers" (dict "endpoints" (list $pods) "token_file" $token) }}
{{- end }}
{{- $_ := set $config "admin" (merge $admin $own) }}
{{- end }}
{{- toYaml $config }}
{{- end }}
