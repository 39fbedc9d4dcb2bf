/** Applies discounts and conditional charges of the catalogue to charges of an account. Pure. */
import {
  type AdjustmentKind,
  type AdjustmentTerms,
  compileTerms,
} from '../../catalog/compile/discount.ts'
import type { Fields } from '../../domain/fields.ts'
import { moneyFormat } from '../currency.ts'
import { adjustmentsOf } from './discount/adjustments.ts'
import type { DiscountedSubscriber, HolderRevision } from './discount/eligibility.ts'
import type { Limits } from './discount/limits.ts'
import type { AccountCycle, CycleCatalogue, RevisionsByKey } from './input.ts'
import type { AdjustmentLine, ChargeLine, CycleSpan } from './lines.ts'
import { withEntity } from './offer.ts'
import { includedServices } from './target.ts'
import type { Holder, Piece } from './timeline.ts'

/**
 * `general`: the cycle of charges that apply to no single line, once per run; null without them.
 */
export type Adjuster = (
  lines: readonly ChargeLine[],
  limits: Limits,
  general?: CycleSpan | null,
) => AdjustmentLine[]

export function adjusterOf(input: AccountCycle, holders: readonly Holder[]): Adjuster {
  const { aid, catalogue, calendar, cycle, settings } = input
  const { discounts, charges } = definitionsOf(aid, catalogue, calendar.zone)
  const onCharges = charges.filter(({ subjects }) => subjects.general === null)
  const [account] = holders
  const own = {
    account: account === undefined ? [] : revisionsOf(account.pieces),
    subscribers: holders
      .slice(1)
      .filter(({ pieces }) => pieces.length > 0)
      .map((holder) => discountedOf(input, holder)),
  }
  return (lines, limits, general = null) => {
    if (lines.length === 0 && general === null) return []
    const used = general === null ? onCharges : charges
    return adjustmentsOf({
      aid,
      ...own,
      discounts,
      charges: used,
      lines,
      cycle: general ?? cycle,
      limits,
      money: moneyFormat(settings.currencyCode),
    })
  }
}

function discountedOf(input: AccountCycle, holder: Holder): DiscountedSubscriber {
  const known = new Map<string, readonly Fields[]>()
  return {
    sid: holder.sid,
    revisions: revisionsOf(holder.pieces),
    includedIn: (cycle) => {
      const id = `${cycle.startMs}-${cycle.endMs}`
      const found = known.get(id) ?? includedServices(input, holder, cycle).map(entryOf)
      known.set(id, found)
      return found
    },
  }
}

/** As in the `services` of a subscriber. */
function entryOf({ name, activationMs, fromMs, toMs }: Holder['holdings'][number]): Fields {
  const [from, to] = [new Date(fromMs), new Date(toMs)]
  return { name, from, to, service_activation: new Date(activationMs) }
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
