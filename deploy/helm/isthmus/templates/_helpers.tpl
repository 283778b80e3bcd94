{{- define "isthmus.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "isthmus.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "isthmus.labels" -}}
{{ include "isthmus.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "isthmus.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "isthmus.name" .) }}
{{- end }}

{{/* The port of the first listener. */}}
{{- define "isthmus.port" -}}
{{- if not .Values.config.listeners }}{{ fail "config.listeners: a listener is expected" }}{{ end }}
{{- (first .Values.config.listeners).port | default 8080 }}
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
{{- if $config.admin }}{{ fail "config.admin: the chart sets it with metrics.enabled" }}{{ end }}
{{- $token := printf "/etc/isthmus/metrics/%s" .Values.metrics.token.key }}
{{- $_ := set $config "admin" (dict "host" "0.0.0.0" "port" .Values.metrics.port "token_file" $token) }}
{{- if .Values.metrics.peers }}
{{- $pods := printf "%s-metrics:%d" (include "isthmus.name" .) (int .Values.metrics.port) }}
{{- $_ := set $config.admin "peers" (dict "endpoints" (list $pods) "token_file" $token) }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}
