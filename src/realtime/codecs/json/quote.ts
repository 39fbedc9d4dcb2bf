import type { Quote } from '../../../domain/charge-outcome.ts'
import { explain } from '../../../domain/explain.ts'
import { groupUnits } from '../../../domain/lines.ts'
import { quote } from './text.ts'

/**
 * Fields of an answer to a pretend request besides its grant: the CDR line that full usage of the
 * grant would yield.
 */
export function encodeQuote({ line, charge }: Quote): string {
  const { exact, tax_data } = charge
  const { inGroup, overGroup, outGroup } = groupUnits(line)
  const groups = `"inGroup":${inGroup},"overGroup":${overGroup},"outGroup":${outGroup}`
  const total = `"finalCharge":${exact.final_charge},"taxData":${JSON.stringify(tax_data)}`
  const price = `"aprice":${exact.aprice},${total},${groups}`
  return `${price},"rateKey":${quote(line.rateKey)},"rating":${JSON.stringify(explain(line))}`
}
