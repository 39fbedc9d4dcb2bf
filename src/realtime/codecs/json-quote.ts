import { lineDocument } from '../../catalog/line-document.ts'
import type { Line } from '../../domain/line.ts'
import { quote } from './json-text.ts'

/** What an answer that only pretends says beside its grant: what its line would say, used up. */
export function encodeQuote(line: Line): string {
  const { exact, in_group, over_group, out_group, arate_key, rating } = lineDocument(line)
  const groups = `"inGroup":${in_group},"overGroup":${over_group},"outGroup":${out_group}`
  const price = `"aprice":${exact.aprice},"finalCharge":${exact.final_charge},${groups}`
  return `${price},"rateKey":${quote(arate_key)},"rating":${JSON.stringify(rating)}`
}
