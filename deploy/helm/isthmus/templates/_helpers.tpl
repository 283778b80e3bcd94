{{- define "isthmus.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "isthmus.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The metadata of a resource: "root", and optionally "name" or what the chart's name ends with, "suffix", "namespace", "labels", "annotations". */}}
{{- define "isthmus.metadata" -}}
name: {{ .name | default (printf "%s%s" (include "isthmus.name" .root) (.suffix | default "")) }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "isthmus.selector" .root | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "isthmus.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "isthmus.name" .) }}
{{- end }}

{{/* What an account may watch, a Role and a RoleBinding in each namespace, and a ClusterRole for what is in none: "root", "account", "suffix", "annotations". */}}
{{- define "isthmus.permissions" -}}
{{- $role := printf "%s-%s%s" .root.Release.Namespace (include "isthmus.name" .root) .suffix }}
{{- range without (splitList " " (include "isthmus.watchedNamespaces" .root)) "" }}
{{- $metadata := include "isthmus.metadata" (dict "root" $.root "name" $role "namespace" . "annotations" $.annotations) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- $metadata | nindent 2 }}
rules:
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [list, watch]
  {{- if has . (splitList " " (include "isthmus.kserveNamespaces" $.root)) }}
  - apiGroups: [serving.kserve.io]
    resources: [inferenceservices, servingruntimes]
    verbs: [list, watch]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- $metadata | nindent 2 }}
subjects:
  - { kind: ServiceAccount, name: {{ $.account }}, namespace: {{ $.root.Release.Namespace }} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ $role }} }
{{- end }}
{{- if and .root.Values.rbac.cluster (include "isthmus.kserveNamespaces" .root) }}
{{- $metadata := include "isthmus.metadata" (dict "root" .root "name" $role "annotations" .annotations) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- $metadata | nindent 2 }}
rules:
  - apiGroups: [serving.kserve.io]
    resources: [clusterservingruntimes]
    verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- $metadata | nindent 2 }}
subjects:
  - { kind: ServiceAccount, name: {{ .account }}, namespace: {{ .root.Release.Namespace }} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $role }} }
{{- end }}
{{- end }}
