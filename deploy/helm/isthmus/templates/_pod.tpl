{{/* The user and group of the process; empty where the cluster assigns them. */}}
{{- define "isthmus.user" -}}
{{- if ne (toString .Values.user) "auto" }}{{ with .Values.user }}{{ int . }}{{ end }}
{{- else if not (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}65532{{ end }}
{{- end }}

{{/* The Secrets that are mounted, the certificate's among them, as a list of name and secretName. */}}
{{- define "isthmus.secrets" -}}
{{- $secrets := .Values.secrets }}
{{- if .Values.certificate.enabled }}
{{- range $secrets }}{{ if eq .name "certificate" }}{{ fail "secrets: with certificate.enabled the name 'certificate' is taken" }}{{ end }}{{ end }}
{{- $secrets = append $secrets (dict "name" "certificate" "secretName" (printf "%s-certificate" (include "isthmus.name" .))) }}
{{- end }}
{{- toYaml $secrets }}
{{- end }}

{{/* What the pods of the gateway have in common with those that validate: "root", "account" (empty for none), and "config", the name of a ConfigMap. */}}
{{- define "isthmus.pod" -}}
{{- $values := .root.Values -}}
automountServiceAccountToken: {{ and (ne .account "") (ne (include "isthmus.watchedNamespaces" .root) "") }}
{{- with .account }}
serviceAccountName: {{ . }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with include "isthmus.user" .root }}
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  {{- end }}
  seccompProfile: { type: RuntimeDefault }
{{- range $key := list "imagePullSecrets" "initContainers" "nodeSelector" "tolerations" "affinity" }}
{{- with index $values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumes:
  - name: config
    configMap: { name: {{ .config }} }
  - name: state
    emptyDir: {}
  - name: tmp
    emptyDir: {}
  {{- if $values.metrics.enabled }}
  - name: metrics-token
    secret: { secretName: {{ required "metrics.token.secretName: a Secret with the admin token is expected" $values.metrics.token.secretName }}, defaultMode: 0440 }
  {{- end }}
  {{- range include "isthmus.secrets" .root | fromYamlArray }}
  - name: secret-{{ .name }}
    secret: { secretName: {{ .secretName }}, defaultMode: 0440 }
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What their containers have in common. */}}
{{- define "isthmus.container" -}}
{{- $watches := ne (include "isthmus.watchedNamespaces" .) "" }}
{{- $memory := dig "limits" "memory" "" (.Values.resources | default dict) | toString }}
{{- $small := and (regexMatch "^[0-9]+Mi?$" $memory) (lt (regexFind "[0-9]+" $memory | int) 512) -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if or .Values.javaOptions $small $watches .Values.extraEnv }}
env:
  {{- if $small }}
  # small.options of the distribution; this variable wins over the image's arguments.
  - { name: _JAVA_OPTIONS, value: "-Xms24m -Xmn12m" }
  {{- end }}
  {{- with .Values.javaOptions }}
  - { name: JDK_JAVA_OPTIONS, value: {{ . | quote }} }
  {{- end }}
  {{- if $watches }}
  # Empty before Kubernetes 1.35, which copies the node's zone to its pods.
  - name: ISTHMUS_ZONE
    valueFrom: { fieldRef: { fieldPath: "metadata.labels['topology.kubernetes.io/zone']" } }
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
# The pod's status shows why the process ended, such as a bad configuration.
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  # Folders, not single files: Kubernetes updates only these.
  - { name: config, mountPath: /etc/isthmus/config, readOnly: true }
  - { name: state, mountPath: /var/lib/isthmus }
  - { name: tmp, mountPath: /tmp }
  {{- if .Values.metrics.enabled }}
  - { name: metrics-token, mountPath: /etc/isthmus/metrics, readOnly: true }
  {{- end }}
  {{- range include "isthmus.secrets" . | fromYamlArray }}
  - { name: secret-{{ .name }}, mountPath: /etc/isthmus/secrets/{{ .name }}, readOnly: true }
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
