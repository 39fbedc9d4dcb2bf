/** Metrics of refused callers of the admin port. */
import { Counter, type Registry } from 'prom-client'

export function createRefusalMetrics(registers: Registry[]) {
  const secrets = new Counter({
    name: 'tollgate_card_secrets_refused_total',
    help: 'Secrets of prepaid cards that were wrong, or refused by a limit on wrong ones',
    labelNames: ['reason'] as const,
    registers,
  })
  return {
    cardSecretRefused: (reason: 'wrong' | 'limit') => secrets.inc({ reason }),
  }
}
