import { explain } from '../../domain/explain.ts'
import type { Line } from '../../domain/line.ts'
import { groupUnits } from '../../domain/lines.ts'
import { decimalText } from '../../domain/money.ts'
import { quote } from './json-text.ts'

/** What an answer that only pretends says beside its grant: what its line would say, used up. */
export function encodeQuote(line: Line): string {
  const { inGroup, overGroup, outGroup } = groupUnits(line)
  const groups = `"inGroup":${inGroup},"overGroup":${overGroup},"outGroup":${outGroup}`
  const price = `"aprice":${decimalText(line.charged)},${groups}`
  return `${price},"rateKey":${quote(line.rateKey)},"rating":${JSON.stringify(explain(line))}`
}
