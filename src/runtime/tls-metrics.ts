import { Counter, Gauge, type Registry } from 'prom-client'

/** Certificate metrics of the listeners; `listener` is the settings section. */
export interface TlsMetrics {
  /** A certificate has been put into use; `notAfterMs` is the end of its validity. */
  used(listener: string, notAfterMs: number): void
  /** Changed files were loaded, or could not be used. */
  reloaded(listener: string, result: 'ok' | 'failed'): void
}

export function createTlsMetrics(registry: Registry): TlsMetrics {
  const registers = [registry]
  const expiry = new Gauge({
    name: 'tollgate_tls_certificate_expiry_timestamp_seconds',
    help: 'End of the validity of the certificate that a listener uses, as Unix time',
    labelNames: ['listener'] as const,
    registers,
  })
  const reloads = new Counter({
    name: 'tollgate_tls_reloads_total',
    help: 'Changes of the TLS files of a listener, by whether they could be used',
    labelNames: ['listener', 'result'] as const,
    registers,
  })
  return {
    used: (listener, notAfterMs) => expiry.set({ listener }, notAfterMs / 1000),
    reloaded: (listener, result) => reloads.inc({ listener, result }),
  }
}
