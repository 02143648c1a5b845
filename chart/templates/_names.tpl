{{/*
Names and labels. The selector labels are those of existing installations: selectors of a Deployment cannot be changed.
*/}}

{{- define "cftunnel.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "cftunnel.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cftunnel.proxy.fullname" -}}
{{- printf "%s-proxy" (include "cftunnel.fullname" . | trunc 57 | trimSuffix "-") -}}
{{- end -}}

{{- define "cftunnel.proxy.headless" -}}
{{- printf "%s-proxy-headless" (include "cftunnel.fullname" . | trunc 48 | trimSuffix "-") -}}
{{- end -}}

{{- define "cftunnel.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "cftunnel.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "cftunnel.authSecretName" -}}
{{- .Values.proxy.authTokenSecretRef.name | default (printf "%s-auth-token" (include "cftunnel.proxy.fullname" .)) -}}
{{- end -}}

{{- define "cftunnel.classConfigName" -}}
{{- default (include "cftunnel.fullname" .) .Values.gatewayClassConfig.name -}}
{{- end -}}

{{- define "cftunnel.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cftunnel.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "cftunnel.proxy.selectorLabels" -}}
app.kubernetes.io/name: "{{ include "cftunnel.name" . | trunc 57 | trimSuffix "-" }}-proxy"
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: proxy
{{- end -}}

{{- define "cftunnel.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "cftunnel.labels" -}}
{{ include "cftunnel.selectorLabels" . }}
{{ include "cftunnel.commonLabels" . }}
{{- end -}}

{{- define "cftunnel.proxy.labels" -}}
{{ include "cftunnel.proxy.selectorLabels" . }}
{{ include "cftunnel.commonLabels" . }}
{{- end -}}

{{- define "cftunnel.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "cftunnel.proxy.image" -}}
{{- $repository := default .Values.image.repository .Values.proxy.image.repository -}}
{{- printf "%s:%s" $repository (coalesce .Values.proxy.image.tag .Values.image.tag .Chart.AppVersion) -}}
{{- end -}}

{{- /* Empty only where there is no tunnel, or where tunnels come with their tokens. */ -}}
{{- define "cftunnel.tunnelTokenSecretName" -}}
{{- if not (or (eq .Values.gatewayClassConfig.tunnels "PerGateway") (and .Values.localEntry.enabled (eq .Values.gatewayClassConfig.entry "Local"))) -}}
{{- $_ := required "proxy.tunnelTokenSecretRef.name is required: the Secret with the connector token of the tunnel" .Values.proxy.tunnelTokenSecretRef.name -}}
{{- end -}}
{{- .Values.proxy.tunnelTokenSecretRef.name -}}
{{- end -}}
