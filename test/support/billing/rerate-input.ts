/** Lines to price again, without the pauses between them. */
import type { RerateInput } from '../../../src/billing/rerate/rerate-cycle.ts'
import type { RealtimeLineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import type { SubscriberProfile } from '../../../src/domain/catalogue.ts'

export function rerateInput(
  line: RealtimeLineDocument,
  profile: SubscriberProfile | Error | null,
): RerateInput {
  if (profile === null || profile instanceof Error) return { line, profile }
  return { line, profile: { ...profile, untilMs: profile.toMs } }
}

export function completed<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
