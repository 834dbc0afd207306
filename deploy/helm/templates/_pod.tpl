{{/* What the pods of replicas and migration share. */}}
{{- define "gridloom.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "gridloom.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: home, mountPath: /var/lib/gridloom }
  - { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "gridloom.volumes" -}}
volumes:
  - { name: home, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
