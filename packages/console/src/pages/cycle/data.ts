/** Billing cycles, their runs and their previews. */
import type { BodyOf, DetailsOf } from '../../api/call-types.ts'
import { answerOf, call, get } from '../../api/client.ts'
import type { DecimalText, Figure } from '../../api/figures.ts'
import { isKey, t } from '../../words/words.ts'

export type CycleRow = DetailsOf<'billrun/cycles'>[number]

/** Amounts are decimal texts; null: there is no such line or invoice. */
interface Amounts {
  readonly stored: DecimalText | null
  readonly wanted: DecimalText | null
}

export interface ChangedLine extends Amounts {
  readonly line: string
  readonly from: string
  readonly to: string
  readonly difference: DecimalText
  /** The cycle of the invoice, if no run corrects the line. */
  readonly cycle?: string
}

export interface PriceChange {
  readonly sid: Figure
  readonly kind: string
  readonly name: string
  readonly cycle: string
  readonly since: string
  readonly rule: string
  readonly amount: DecimalText
  readonly other_amount: DecimalText | null
}

export interface TaxChange {
  readonly sid: Figure
  readonly name: string
  readonly cycle: string
  readonly charged: DecimalText
  readonly in_force: DecimalText
  readonly difference: DecimalText
}

export interface PreviewAccount {
  readonly aid: Figure
  readonly total: DecimalText | null
  readonly stored: DecimalText | null
  readonly changes: readonly ChangedLine[]
  readonly others: Amounts
  readonly price_changes: readonly PriceChange[]
  readonly tax_changes: readonly TaxChange[]
  readonly not_returned: readonly ChangedLine[]
  readonly failed?: string
}

export interface Preview {
  readonly compared: string
  readonly previous: { readonly key: string; readonly assumption: string }
  readonly accounts: readonly PreviewAccount[]
  readonly totals: Readonly<Record<string, Figure>>
  readonly next: Figure | null
}

/** A cycle that is named by its key, and by the day if accounts have different ones. */
export interface CycleRef {
  readonly stamp: string
  readonly invoicing_day?: string
}

export function cycleRefIn({ key = '', day = '' }: Readonly<Record<string, string>>): CycleRef {
  return { stamp: key, ...(day !== '' && { invoicing_day: day }) }
}

interface Counts {
  readonly total: number
  readonly accounts?: number
  readonly empty?: number
  readonly failed?: number
}

export interface CycleProgress extends Omit<DetailsOf<'billrun/cycle'>, 'accounts'> {
  readonly accounts: Counts
  /** Whether its invoices are being confirmed. */
  readonly isConfirming: boolean
}

export interface Parked {
  readonly aid: Figure
  readonly reason: string
  readonly tries: Figure
}

export function readCycles(signal: AbortSignal): Promise<readonly CycleRow[]> {
  return get('billrun/cycles', {}, { signal })
}

/** `isSilent`: it is repeated every second. */
export async function readCycle(named: CycleRef, signal: AbortSignal, isSilent: boolean) {
  const options = { signal, isSilent }
  const [cycle, charge] = await Promise.all([
    get('billrun/cycle', { ...named }, options),
    get('billrun/chargestatus', { stamp: named.stamp }, options),
  ])
  const { accounts } = cycle as unknown as Pick<CycleProgress, 'accounts'>
  return { ...cycle, accounts, isConfirming: charge[0]?.status === false } as CycleProgress
}

export interface Sums {
  readonly invoices: Figure
  readonly before_vat: Figure
  readonly after_vat: Figure
}

/** Sums of the invoices that a confirmation confirms. */
export async function readSums(named: CycleRef, signal: AbortSignal): Promise<Sums> {
  const cycle = await get('billrun/cycle', { ...named, totals: true }, { signal })
  return (cycle as unknown as { readonly unconfirmed: Sums }).unconfirmed
}

/** A state of the API, or `paused` or `confirming`. */
export function stateText(state: string): string {
  const key = `cycle.is.${state}`
  return isKey(key) ? t(key) : state
}

export type CycleCommand =
  | 'billrun/completecycle'
  | 'billrun/pausecycle'
  | 'billrun/resetcycle'
  | 'billrun/confirmcycle'
  | 'billrun/retryparked'
  | 'billrun/skipparked'

export async function command(name: CycleCommand, named: CycleRef, more: object = {}) {
  const answer = await answerOf(name, { ...named, ...more })
  return (answer as { readonly details?: Readonly<Record<string, Figure>> }).details ?? {}
}

/** More differing accounts are counted, but not shown. */
export const SHOWN_MAX = 200

/** The pages so far. */
export interface Computed {
  readonly last: Preview
  readonly accounts: readonly PreviewAccount[]
}

export interface PreviewOrder {
  readonly aid: string
  readonly back: string
  /** Parsed JSON; undefined without one. */
  readonly assume: unknown
}

/** Page by page until the end, or until the signal ends it; `onPage` gets each one. */
export async function computePreview(
  named: CycleRef,
  { aid, back, assume }: PreviewOrder,
  signal: AbortSignal,
  onPage: (page: Preview) => void,
): Promise<void> {
  const order = {
    ...named,
    ...(aid !== '' && { aid: Number(aid) }),
    ...(back !== '' && { back: Number(back) }),
    ...(assume !== undefined && { assume }),
  }
  for (let from: object = {}; ; ) {
    const body = { ...order, ...from } as BodyOf<'billrun/preview'>
    const answer = await call('billrun/preview', body, { signal, mayRepeat: true })
    const page = answer as unknown as Preview
    onPage(page)
    if (page.next === null) return
    from = { after: page.next, so_far: page.totals }
  }
}
