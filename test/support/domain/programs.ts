import type { SegmentStart } from '../../../src/domain/session.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'

/** The start of a segment: prepaid, without groups, taxes or an end. */
export function startOf(tariff: Tariff, more: Partial<SegmentStart> = {}): SegmentStart {
  return {
    key: 'a',
    rateKey: 'R',
    plan: 'P',
    cycle: '202601',
    tariff,
    priceOf: 'BASE',
    band: '',
    others: [],
    taxes: [],
    rounding: null,
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs: Number.MAX_SAFE_INTEGER,
    ...more,
  }
}
