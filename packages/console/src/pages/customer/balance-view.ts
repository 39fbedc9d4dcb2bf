/** Balances as the page shows them: texts from the answer, and sizes for the bars. */
import type { BarPiece } from '../../parts/bar-scale.ts'

/** A number of an answer: a whole number, or decimal text. */
type Figure = number | string

export interface Balance {
  readonly _id: { readonly $id: string }
  readonly aid: number
  readonly sid: number
  readonly bucket_id: number
  readonly connection_type: 'prepaid' | 'postpaid'
  readonly counter: string
  readonly group_name?: string
  readonly holder?: string
  readonly pp_includes_external_id: number
  readonly pp_includes_name: string
  readonly charging_by: 'usagev' | 'cost' | 'total_cost'
  readonly charging_by_usaget: string
  readonly to: string
  readonly unlimited: boolean
  readonly balance: {
    readonly groups?: Readonly<Record<string, { readonly left: Figure; readonly total: Figure }>>
  }
  /** Units, or millionths of money. */
  readonly spent: number
  readonly reserved: number
  readonly free: number
  readonly limit: number
  readonly lapsed?: number
  /** Money. */
  readonly debt: Figure
}

export type BalanceKind = 'credit' | 'group' | 'postpaid' | 'usage' | 'debt'

export interface BalanceRow {
  readonly id: string
  readonly kind: BalanceKind
  /** Name of the prepaid include, the group or the counter. */
  readonly name: string
  /** Plan or service of a group. */
  readonly holder: string
  readonly isShared: boolean
  /** `money`, or the usage type of the units. */
  readonly unit: string
  /** Decimal texts; null where there is no such amount. */
  readonly free: string | null
  readonly reserved: string
  readonly used: string
  readonly total: string | null
  readonly debt: string | null
  readonly lapsed: string | null
  /** Text of the API; null without an end. */
  readonly to: string | null
  readonly pieces: readonly BarPiece[]
}

export const MONEY = 'money'
/** Counters from here on have no limit. */
const UNLIMITED = 2 ** 52
const DEBT_BUCKET = 0

/** A whole number of millionths as a decimal: only the point is set. */
export function microsText(micros: number): string {
  const sign = micros < 0 ? '-' : ''
  const digits = String(micros).replace('-', '').padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -6)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Credit first, then included units, then counters; one row for the debt of each owner. */
export function balanceRows(balances: readonly Balance[]): readonly BalanceRow[] {
  const order: readonly BalanceKind[] = ['debt', 'credit', 'group', 'postpaid', 'usage']
  const rows = [...debtRows(balances), ...balances.flatMap(rowOf)]
  return order.flatMap((kind) => rows.filter((row) => row.kind === kind))
}

/** The debt stands on each balance of its owner. */
function debtRows(balances: readonly Balance[]): BalanceRow[] {
  const byOwner = new Map(balances.map((balance) => [`${balance.aid}.${balance.sid}`, balance]))
  return [...byOwner.values()].flatMap((balance) => {
    const debt = String(balance.debt)
    if (Number(debt) === 0) return []
    const pieces = [{ kind: 'debt', size: micros(debt) } as const]
    const owner = { id: `debt-${balance.sid}`, kind: 'debt', isShared: balance.sid === 0 } as const
    const none = { name: '', holder: '', free: null, total: null, lapsed: null, to: null }
    return [{ ...owner, ...none, unit: MONEY, reserved: '0', used: '0', debt, pieces }]
  })
}

/** For drawing beside amounts in millionths. */
function micros(money: string): number {
  return Math.abs(Number(money)) * 1e6
}

function rowOf(balance: Balance): BalanceRow[] {
  if (balance.bucket_id === DEBT_BUCKET) return []
  const { spent, reserved, free, limit, lapsed = 0 } = balance
  const isMoney = balance.charging_by !== 'usagev'
  const text = (amount: number) => (isMoney ? microsText(amount) : String(amount))
  const kind = kindOf(balance)
  const isCredit = kind === 'credit'
  const hasLimit = !isCredit && limit > 0 && limit < UNLIMITED
  const group = balance.balance.groups?.[balance.group_name ?? '']
  const room = isCredit ? free : hasLimit ? limit - spent - reserved : 0
  return [
    {
      id: balance._id.$id,
      kind,
      name: nameOf(balance),
      holder: balance.holder ?? '',
      isShared: balance.sid === 0,
      unit: isMoney ? MONEY : balance.charging_by_usaget,
      free: isCredit ? text(free) : group === undefined ? null : String(group.left),
      reserved: text(reserved),
      used: text(spent),
      total: hasLimit ? text(limit) : null,
      debt: null,
      lapsed: lapsed > 0 ? text(lapsed) : null,
      to: balance.unlimited ? null : balance.to,
      pieces: [
        { kind: 'used', size: Math.max(0, spent) },
        { kind: 'reserved', size: Math.max(0, reserved) },
        { kind: 'free', size: Math.max(0, room) },
      ],
    },
  ]
}

function kindOf({ counter, group_name: group }: Balance): BalanceKind {
  if (counter === '') return 'credit'
  if (group !== undefined) return 'group'
  return counter === 'credit' ? 'postpaid' : 'usage'
}

function nameOf(balance: Balance): string {
  const {
    counter,
    group_name: group,
    pp_includes_name: name,
    pp_includes_external_id: id,
  } = balance
  if (counter === '') return name === '' ? `#${id}` : name
  return group ?? counter
}
