import { plainPricing } from '../../../src/domain/segment-parts.ts'
import type { SegmentStart } from '../../../src/domain/session.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'
import { type Flat, withFields } from './lines.ts'

/** The start of a segment: prepaid, without groups, taxes or an end. */
export function startOf(tariff: Tariff, more: Partial<Flat<SegmentStart>> = {}): SegmentStart {
  const start: SegmentStart = {
    key: 'a',
    pricing: plainPricing({ rateKey: 'R', plan: 'P', cycle: '202601', tariff }),
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs: Number.MAX_SAFE_INTEGER,
  }
  return withFields(start, more)
}
