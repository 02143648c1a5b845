// CA certificates for tests: real ones, self-signed, valid for a hundred years, whose keys nobody has.
import type { ConfigMap } from '#controller/api/core.ts';

export const CA_A = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBdTCCARugAwIBAgIUPqeOYdryYgFT+eF4Mw+UCHrZeEYwCgYIKoZIzj0EAwIw',
  'DzENMAsGA1UEAwwEY2EtYTAgFw0yNjExMzAwNzQ1NTBaGA8yMTI2MTEwNjA3NDU1',
  'MFowDzENMAsGA1UEAwwEY2EtYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDlT',
  'nDgumeLdQq9l/XamM97H83dBBU0pcPcu9A0IRVgqHFr6B3ceCofVKWDjFnBLT5QO',
  'opSVZpDhwleGpzfhRUijUzBRMB0GA1UdDgQWBBTHkYFhndnAqpoi32btkMyhbJ6T',
  'FjAfBgNVHSMEGDAWgBTHkYFhndnAqpoi32btkMyhbJ6TFjAPBgNVHRMBAf8EBTAD',
  'AQH/MAoGCCqGSM49BAMCA0gAMEUCIH82Fc5hSuFZsQfCZPvtOejS4rZKcBCe30xy',
  'jPN+LKh5AiEAvUmG2zESIBq/Zz+c1947miruTPj83WvmmnaThJeVb9s=',
  '-----END CERTIFICATE-----',
  '',
].join('\n');

export const CA_B = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBdTCCARugAwIBAgIUI5e+Sre6bD+VXq2v20Br6T/wa4IwCgYIKoZIzj0EAwIw',
  'DzENMAsGA1UEAwwEY2EtYjAgFw0yNjExMzAwNzQ1NTBaGA8yMTI2MTEwNjA3NDU1',
  'MFowDzENMAsGA1UEAwwEY2EtYjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEe7',
  'DfCvNEJF/tTB8Y96lACyWBTNOYx60ggKHKMasq8k8VxBLn8aHMuvRvhZ57u0mrv4',
  'qIp8cLq54skq4s6T4KujUzBRMB0GA1UdDgQWBBT0w7FRwXKv+N/IJHHozis9ttpn',
  'VTAfBgNVHSMEGDAWgBT0w7FRwXKv+N/IJHHozis9ttpnVTAPBgNVHRMBAf8EBTAD',
  'AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCwQDqL3/NPveArTot6ntDohpBqhOpYf+8d',
  'NPSp7ylNBQIgfra8dVQoyC6RlbKAp1UCO/GdtRZMEdwshy854+iF0/I=',
  '-----END CERTIFICATE-----',
  '',
].join('\n');

export const configMap = (name: string, data: Readonly<Record<string, string>>, namespace = 'default'): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

export const caMap = (name: string, ca: string = CA_A, namespace = 'default'): ConfigMap => configMap(name, { 'ca.crt': ca }, namespace);
