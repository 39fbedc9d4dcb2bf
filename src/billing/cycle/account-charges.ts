/** All charges, discounts and conditional charges of an account in a cycle, before tax. Pure. */
import {
  type AdjustmentKind,
  type AdjustmentTerms,
  compileTerms,
} from '../../catalog/compile/discount.ts'
import type { Fields } from '../../domain/fields.ts'
import { adjustmentsOf } from './discount/adjustments.ts'
import type { DiscountedSubscriber, HolderRevision } from './discount/eligibility.ts'
import type { AccountCycle, CycleCatalogue, RevisionsByKey } from './input.ts'
import type { AdjustmentLine, ChargeLine, CycleSpan } from './lines.ts'
import { offerAt, withEntity } from './offer.ts'
import { revisionBefore } from './overrides.ts'
import {
  type ChargeCorrections,
  correctedAdjustments,
  correctedCharges,
  creditedCharge,
} from './reconcile.ts'
import { chargesByTiming, wantedCharges } from './target.ts'
import type { Holder, Piece } from './timeline.ts'
import { chargeKey, type WrittenCharge, writtenFor } from './written.ts'

export interface AccountCharges {
  readonly charges: readonly ChargeLine[]
  readonly adjustments: readonly AdjustmentLine[]
  /** The charges that adjustments apply to, by id; some are of the previous run. */
  readonly subjects: ReadonlyMap<string, ChargeLine>
  /** Stamps of charges of the previous run, by id of their wanted or credited line. */
  readonly formerStamps: ReadonlyMap<string, string>
}

/** Throws `CycleError`, or `FieldError` for an invalid field of a revision or line. */
export function accountCharges(input: AccountCycle, holders: readonly Holder[]): AccountCharges {
  const { cycle, next } = input
  const [arrears = [], due = []] = chargesByTiming(input, holders, cycle, ['arrears', 'due'])
  const ahead = wantedCharges(input, holders, next, 'ahead')
  const written = writtenFor(input.written, cycle)
  // Longer periods are not reconciled: their begin is charged unless the previous run did.
  const begun = due.filter(
    (line) => !isOfCycle(line, cycle) && !written.longer.has(chargeKey(line)),
  )
  const own = [...arrears, ...begun]
  const adjust = adjusterOf(input, holders)
  const paid = reconciles(input) ? corrected(input, holders, due, written, adjust) : NOTHING
  const subjects = [...own, ...ahead, ...paid.subjects]
  return {
    charges: [...own, ...paid.charges, ...ahead],
    adjustments: [...adjust(own, cycle, true), ...paid.adjustments, ...adjust(ahead, next, false)],
    subjects: new Map(subjects.map((line) => [line.id, line])),
    formerStamps: paid.formerStamps,
  }
}

function isOfCycle(line: ChargeLine, cycle: CycleSpan): boolean {
  return line.cycle.startMs === cycle.startMs && line.cycle.endMs === cycle.endMs
}

function reconciles({ settings, hasPreviousRun }: AccountCycle): boolean {
  return hasPreviousRun || !settings.reconcileRequiresPreviousRun
}

interface Corrected extends Pick<AccountCharges, 'charges' | 'adjustments' | 'formerStamps'> {
  readonly subjects: readonly ChargeLine[]
}

const NOTHING: Corrected = { charges: [], adjustments: [], subjects: [], formerStamps: new Map() }

/** The cycle that was paid ahead: what should have been charged and granted, minus what was. */
function corrected(
  input: AccountCycle,
  holders: readonly Holder[],
  due: readonly ChargeLine[],
  written: ReturnType<typeof writtenFor>,
  adjust: Adjuster,
): Corrected {
  const { aid, cycle, settings } = input
  const wanted = due.filter((line) => isOfCycle(line, cycle))
  const corrections: ChargeCorrections = {
    aid,
    cycle,
    keepsZero: settings.generateZeroRefunds,
    entityOf: (charge) => entityOf(input, holders, charge),
  }
  const credited = written.charges.map((charge) => creditedCharge(charge, corrections))
  const subjects = [...wanted, ...credited]
  const stamps = new Map(written.charges.map(({ key, stamp }) => [key, stamp]))
  return {
    charges: correctedCharges(wanted, written.charges, corrections),
    adjustments: correctedAdjustments(adjust(wanted, cycle, false), written.adjustments, {
      ...corrections,
      charges: new Map(subjects.map((line) => [line.id, line])),
    }),
    subjects,
    formerStamps: new Map(
      subjects.flatMap((line) => {
        const stamp = stamps.get(chargeKey(line))
        return stamp === undefined || stamp === '' ? [] : [[line.id, stamp] as const]
      }),
    ),
  }
}

/** The plan or service of a written charge, for its taxes; its name alone if it is gone. */
function entityOf(
  { aid, catalogue }: AccountCycle,
  holders: readonly Holder[],
  written: WrittenCharge,
): Fields {
  const { key, sid, kind, name, span } = written
  const holder = holders.find((one) => one.sid === sid)
  const holding = holder?.holdings.find((one) => chargeKey(one) === key)
  if (holding !== undefined) return offerAt(aid, catalogue, holding, span.endMs - 1).document
  const all = kind === 'flat' ? catalogue.plans : catalogue.services
  return revisionBefore(all, name, span.endMs - 1) ?? { name }
}

/** `isWhole`: with the charges on nothing in particular, once per run. */
type Adjuster = (
  lines: readonly ChargeLine[],
  cycle: CycleSpan,
  isWhole: boolean,
) => AdjustmentLine[]

function adjusterOf(input: AccountCycle, holders: readonly Holder[]): Adjuster {
  const { aid, catalogue, calendar } = input
  const { discounts, charges } = definitionsOf(aid, catalogue, calendar.zone)
  const [account, ...subscribers] = holders.map((holder) => ({
    sid: holder.sid,
    revisions: revisionsOf(holder.pieces),
  }))
  const own = { account: account?.revisions ?? [], subscribers: subscribers.filter(isHeld) }
  return (lines, cycle, isWhole) => {
    const onCharges = charges.filter(({ subjects }) => subjects.general === null)
    const used = isWhole ? charges : onCharges
    return adjustmentsOf({ aid, ...own, discounts, charges: used, lines, cycle })
  }
}

function isHeld({ revisions }: DiscountedSubscriber): boolean {
  return revisions.length > 0
}

function revisionsOf(pieces: readonly Piece[]): HolderRevision[] {
  const found: { span: { startMs: number; endMs: number }; document: Fields }[] = []
  for (const { fromMs, toMs, subscriber, account } of pieces) {
    const document = subscriber ?? account ?? {}
    const last = found.at(-1)
    if (last?.document === document) last.span.endMs = toMs
    else found.push({ span: { startMs: fromMs, endMs: toMs }, document })
  }
  return found
}

interface Definitions {
  readonly discounts: readonly AdjustmentTerms[]
  readonly charges: readonly AdjustmentTerms[]
}

const definitions = new WeakMap<CycleCatalogue, Definitions>()

/** All revisions, compiled once per catalogue. */
function definitionsOf(aid: number, catalogue: CycleCatalogue, zone: string): Definitions {
  let found = definitions.get(catalogue)
  if (found === undefined) {
    const compile = (kind: AdjustmentKind, all: RevisionsByKey) =>
      [...all].flatMap(([key, revisions]) =>
        revisions.map((revision) =>
          withEntity(aid, `${kind} ${key}`, () => compileTerms(kind, revision, zone)),
        ),
      )
    found = {
      discounts: compile('discount', catalogue.discounts),
      charges: compile('conditional_charge', catalogue.charges),
    }
    definitions.set(catalogue, found)
  }
  return found
}
