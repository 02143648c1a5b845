{{/*
Parts that controller and proxy share.
*/}}

{{/* A LabelSelector as the text that the controller's flags take, e.g. `a=b,c in (d,e),!f`. */}}
{{- define "cftunnel.selectorText" -}}
{{- $terms := list -}}
{{- range $key, $value := .matchLabels -}}
{{- $terms = append $terms (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- range .matchExpressions -}}
{{- if eq .operator "In" -}}
{{- $terms = append $terms (printf "%s in (%s)" .key (join "," .values)) -}}
{{- else if eq .operator "NotIn" -}}
{{- $terms = append $terms (printf "%s notin (%s)" .key (join "," .values)) -}}
{{- else if eq .operator "Exists" -}}
{{- $terms = append $terms .key -}}
{{- else if eq .operator "DoesNotExist" -}}
{{- $terms = append $terms (printf "!%s" .key) -}}
{{- else -}}
{{- fail (printf "operator %q of key %q in a label selector is not one of In, NotIn, Exists, DoesNotExist" .operator .key) -}}
{{- end -}}
{{- end -}}
{{- join "," $terms -}}
{{- end -}}

{{/* Takes {probe, path, port}. */}}
{{- define "cftunnel.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
initialDelaySeconds: {{ .probe.initialDelaySeconds }}
periodSeconds: {{ .probe.periodSeconds }}
timeoutSeconds: {{ .probe.timeoutSeconds }}
failureThreshold: {{ .probe.failureThreshold }}
{{- end -}}

{{/* Takes {probes, port}. */}}
{{- define "cftunnel.probes" -}}
{{- if .probes.startupProbe.enabled }}
startupProbe:
  {{- include "cftunnel.probe" (dict "probe" .probes.startupProbe "path" "/healthz" "port" .port) | nindent 2 }}
{{- end }}
{{- if .probes.livenessProbe.enabled }}
livenessProbe:
  {{- include "cftunnel.probe" (dict "probe" .probes.livenessProbe "path" "/healthz" "port" .port) | nindent 2 }}
{{- end }}
{{- if .probes.readinessProbe.enabled }}
readinessProbe:
  {{- include "cftunnel.probe" (dict "probe" .probes.readinessProbe "path" "/readyz" "port" .port) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where a pod may be placed. Takes the values that hold the four keys. */}}
{{- define "cftunnel.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
The limits of a PodDisruptionBudget, of which the API server takes exactly one. 0 is a value, so null is what counts as not set.
Takes {budget, at}; `at` is where the values stand, for the message.
*/}}
{{- define "cftunnel.budget" -}}
{{- $min := .budget.minAvailable -}}
{{- $max := .budget.maxUnavailable -}}
{{- if and (not (kindIs "invalid" $min)) (not (kindIs "invalid" $max)) -}}
{{- fail (printf "%s: set minAvailable or maxUnavailable, not both (null unsets one)" .at) -}}
{{- end -}}
{{- if not (kindIs "invalid" $max) -}}
maxUnavailable: {{ $max }}
{{- else -}}
minAvailable: {{ kindIs "invalid" $min | ternary 1 $min }}
{{- end -}}
{{- with .budget.unhealthyPodEvictionPolicy }}
unhealthyPodEvictionPolicy: {{ . }}
{{- end }}
{{- end -}}

{{/* NetworkPolicy peers of the address ranges of Cloudflare. An empty list of peers would mean everywhere. */}}
{{- define "cftunnel.cloudflarePeers" -}}
{{- $ranges := concat (default list .Values.networkPolicy.cloudflareIpRanges.ipv4) (default list .Values.networkPolicy.cloudflareIpRanges.ipv6) -}}
{{- if not $ranges -}}
{{- fail "networkPolicy.cloudflareIpRanges is empty, which would allow every destination: give the ranges, or turn the restriction of egress off" -}}
{{- end -}}
{{- range $ranges }}
- ipBlock:
    cidr: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* DNS is asked wherever the resolver of the pod says. */}}
{{- define "cftunnel.dnsEgress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}
