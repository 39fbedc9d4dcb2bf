/** Balances as the page shows them: texts from the answer, and sizes for the bars. */
import type { Figure } from '../../api/figures.ts'
import { membersOf, type RecordOf } from '../../api/records.ts'
import type { BarPiece } from '../../parts/bar-scale.ts'

type Stored = RecordOf<'balances'>
/** Members that each balance has. */
type Always =
  | ('_id' | 'aid' | 'sid' | 'bucket_id' | 'connection_type' | 'counter' | 'to' | 'unlimited')
  | ('pp_includes_external_id' | 'pp_includes_name' | 'charging_by' | 'charging_by_usaget')
  | ('balance' | 'spent' | 'reserved' | 'free' | 'limit' | 'debt')
export type Balance = Required<Pick<Stored, Always>> & Omit<Stored, Always>

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
export function microsText(micros: Figure): string {
  const text = String(micros)
  const sign = text.startsWith('-') ? '-' : ''
  const digits = text.slice(sign.length).padStart(7, '0')
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
  const [used, held, most] = [spent, reserved, limit].map(Number) as [number, number, number]
  const isMoney = balance.charging_by !== 'usagev'
  const text = (amount: Figure) => (isMoney ? microsText(amount) : String(amount))
  const kind = kindOf(balance)
  const isCredit = kind === 'credit'
  const hasLimit = !isCredit && most > 0 && most < UNLIMITED
  const { groups } = membersOf(balance.balance)
  const group = membersOf(membersOf(groups)[balance.group_name ?? ''])
  const room = isCredit ? Number(free) : hasLimit ? most - used - held : 0
  return [
    {
      id: balance._id.$id,
      kind,
      name: nameOf(balance),
      holder: balance.holder ?? '',
      isShared: balance.sid === 0,
      unit: isMoney ? MONEY : balance.charging_by_usaget,
      free: isCredit ? text(free) : group.left === undefined ? null : String(group.left),
      reserved: text(reserved),
      used: text(spent),
      total: hasLimit ? text(limit) : null,
      debt: null,
      lapsed: Number(lapsed) > 0 ? text(lapsed) : null,
      to: balance.unlimited ? null : balance.to,
      pieces: [
        { kind: 'used', size: Math.max(0, used) },
        { kind: 'reserved', size: Math.max(0, held) },
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
