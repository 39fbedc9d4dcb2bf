/** The lines of a cycle with their taxes, as they are stored. Pure. */
import { createHash } from 'node:crypto'
import type {
  CycleAdjustmentDocument,
  CycleChargeDocument,
  CycleLineDocument,
  CycleRounding,
} from '../../catalog/records/money/cycle-line.ts'
import type { RoundingRules } from '../../domain/catalogue.ts'
import type { AccountCharges } from './account-charges.ts'
import type { AccountCycle } from './input.ts'
import type { AdjustmentLine, ChargeLine } from './lines.ts'
import { type RuledLine, taxAdjustment, taxationAt, taxCharge } from './tax.ts'

const SECOND_MS = 1000

/** In the order of the charges, then of the adjustments. Throws `BillingError` without a tax. */
export function lineDocuments(input: AccountCycle, lines: AccountCharges): CycleLineDocument[] {
  const { charges, adjustments, subjects, formerStamps } = lines
  const taxation = taxationAt(input.catalogue.taxation, input.cycle.endMs)
  const ruled = new Map<ChargeLine, RuledLine<ChargeLine>>()
  const taxed = (line: ChargeLine): RuledLine<ChargeLine> => {
    const found = ruled.get(line) ?? taxCharge(line, taxation)
    ruled.set(line, found)
    return found
  }
  const stored = new Map(charges.map(({ id }) => [id, stampOf(input, id)]))
  return [
    ...charges.map((line) => chargeDocument(input, taxed(line))),
    ...adjustments.map((line) => {
      const { eligibleLine } = line
      const subject = eligibleLine === null ? undefined : subjects.get(eligibleLine)
      const own = taxAdjustment(line, subject === undefined ? null : taxed(subject), taxation)
      const stamp =
        eligibleLine === null
          ? undefined
          : (stored.get(eligibleLine) ?? formerStamps.get(eligibleLine))
      return adjustmentDocument(input, own, stamp)
    }),
  ]
}

/** A repeated run of the cycle gives the same line the same stamp. */
function stampOf({ aid, cycle }: AccountCycle, id: string): string {
  return createHash('sha256').update(`${aid}/${cycle.key}/${id}`).digest('hex').slice(0, 32)
}

function commonFields(
  input: AccountCycle,
  { line, rounding }: RuledLine<ChargeLine | AdjustmentLine>,
) {
  const { cycle, nowMs } = input
  const { id, aid, sid, amount, isUpfront, corrects, explain } = line
  return {
    stamp: stampOf(input, id),
    v: 1,
    source: 'billrun',
    line_id: id,
    aid,
    sid,
    ...(sid === 0 && { account_level: true as const }),
    billrun: cycle.key,
    charged_billrun: line.cycle.key,
    charge_amount: amount.toString(),
    is_upfront: isUpfront,
    ...(corrects !== undefined && { corrects }),
    ...(rounding !== null && { rounding_rules: roundingDocument(rounding) }),
    // The end of the cycle, so that it follows the usage.
    urt: new Date(cycle.endMs - SECOND_MS),
    process_time: new Date(nowMs),
    explain,
  } as const
}

function roundingDocument({ mode, decimals, stage }: RoundingRules): CycleRounding {
  return { rounding_type: mode, rounding_decimals: decimals, rounding_stage: stage }
}

function chargeDocument(input: AccountCycle, ruled: RuledLine<ChargeLine>): CycleChargeDocument {
  const { line, tax } = ruled
  const { kind, plan, name, serviceId, op, quantity, fullPrice, tier, span } = line
  return {
    ...commonFields(input, ruled),
    type: kind,
    usaget: kind,
    plan,
    name,
    ...(serviceId !== undefined && { service_id: serviceId }),
    charge_op: op,
    usagev: quantity,
    full_price: fullPrice.toNumber(),
    ...(tier !== undefined && { cycle: { ...tier, price: fullPrice.toNumber() } }),
    start: new Date(span.startMs),
    end: new Date(span.endMs),
    prorated_start: line.isProratedStart,
    prorated_end: line.isProratedEnd,
    ...tax,
  }
}

function adjustmentDocument(
  input: AccountCycle,
  ruled: RuledLine<AdjustmentLine>,
  eligible: string | undefined,
): CycleAdjustmentDocument {
  const { line, tax } = ruled
  const { kind, key, description, type, span, uncappedAmount } = line
  return {
    ...commonFields(input, ruled),
    type: 'credit',
    usaget: kind,
    key,
    name: description,
    description,
    arate_key: key,
    // Corrections are recognized by their id.
    charge_op: line.id.startsWith('difference/') ? 'refund' : 'charge',
    usagev: 1,
    discount_type: type,
    discount_start: new Date(span.startMs),
    discount_end: new Date(span.endMs),
    ...(eligible !== undefined && { eligible_line: eligible }),
    ...(uncappedAmount !== undefined && {
      orig_discount_amount: uncappedAmount.abs().toNumber(),
    }),
    ...tax,
  }
}
