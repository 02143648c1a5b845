{{/*
Hostname ownership at admission: the rules of the controller in CEL. Takes root, name, resources, hostnames (an expression), field (for
messages) and mayBeEmpty: listeners without a hostname claim nothing by themselves, routes without one claim all that their listener has.
*/}}

{{- define "cftunnel.ownershipPolicy" -}}
{{- $ownership := .root.Values.hostnameOwnershipPolicy }}
{{- $label := $ownership.labelKey }}
{{- $name := printf "%s-%s" (include "cftunnel.fullname" .root) .name }}
{{- $selector := deepCopy $ownership.namespaceSelector }}
{{- if eq $ownership.unlabelled "Ignore" }}
{{- $labelled := dict "key" $label "operator" "Exists" }}
{{- $_ := set $selector "matchExpressions" (append (default list $selector.matchExpressions) $labelled) }}
{{- end }}
{{- $mayBeEmpty := or .mayBeEmpty (eq $ownership.emptyHostnames "Scope") -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name | quote }}
  labels:
    {{- include "cftunnel.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [gateway.networking.k8s.io]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE]
        resources: {{ toJson .resources }}
  matchConditions:
    # An object from before this policy that is being deleted must be able to lose its finalizers.
    - name: not-a-step-of-deletion
      expression: "!(request.operation == 'UPDATE' && has(object.metadata.deletionTimestamp) && object.spec == oldObject.spec)"
  variables:
    - name: domain
      expression: >-
        has(namespaceObject.metadata.labels) && {{ $label | squote }} in namespaceObject.metadata.labels
        ? namespaceObject.metadata.labels[{{ $label | squote }}].lowerAscii() : ''
    - name: hostnames
      expression: {{ .hostnames | quote }}
    - name: foreign
      expression: >-
        variables.hostnames.filter(hostname, variables.domain != ''
        && hostname != variables.domain
        && hostname != '*.' + variables.domain
        && !hostname.endsWith('.' + variables.domain))
  validations:
    - expression: "variables.domain != ''{{ if .mayBeEmpty }} || size(variables.hostnames) == 0{{ end }}"
      reason: Forbidden
      messageExpression: >-
        'namespace ' + request.namespace + ' has no domain: set its label {{ $label }}, then it may publish that domain and what is below it'
    {{- if not $mayBeEmpty }}
    - expression: "variables.domain == '' || size(variables.hostnames) > 0"
      reason: Forbidden
      messageExpression: >-
        '{{ .field }} is empty: name hostnames within ' + variables.domain + ', the domain of namespace ' + request.namespace
    {{- end }}
    - expression: "size(variables.foreign) == 0"
      reason: Forbidden
      messageExpression: >-
        '{{ .field }}: ' + variables.foreign[0] + ' is outside of ' + variables.domain + ', the domain of namespace ' + request.namespace
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name | quote }}
  labels:
    {{- include "cftunnel.labels" .root | nindent 4 }}
spec:
  policyName: {{ $name | quote }}
  validationActions: [Deny]
  {{- with $selector }}
  matchResources:
    namespaceSelector:
      {{- toYaml . | nindent 6 }}
  {{- end }}
{{- end -}}
