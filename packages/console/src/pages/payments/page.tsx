/** Payments of an account or of all, and charges through gateways. */
import '../../parts/split.css'
import { useState } from 'preact/hooks'
import type { Fields } from '../../api/records.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { link, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import {
  customerColumn,
  moneyColumn,
  numberColumn,
  textColumn,
  timeColumn,
} from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { List, useList } from '../../parts/list.tsx'
import { announce } from '../../parts/live-region.tsx'
import { moneyIn, withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { keptPending } from '../../parts/pending.ts'
import { missingText } from '../../parts/rights.ts'
import { tabStorage } from '../../parts/tab-storage.ts'
import type { Column } from '../../parts/table.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { Time } from '../../parts/time.tsx'
import { PAYMENTS } from '../../words/en/payments.ts'
import { addWords, isKey, t } from '../../words/words.ts'
import {
  CORRECTIONS,
  type Correction,
  correct,
  NO_PAYMENT,
  type Payment,
  readCharges,
  readPayments,
  stateOf,
} from './data.ts'
import { Pay, PENDING } from './pay.tsx'

addWords(PAYMENTS)

const TABS = ['payments', 'charges'] as const

export default function Page() {
  const aid = location.value.query['aid'] ?? ''
  const [isOpen, setOpen] = useState(
    keptPending(tabStorage(), PENDING, NO_PAYMENT)?.isSent === true,
  )
  const [done, setDone] = useState<string | null>(null)
  const open = () => {
    if (missingText('api/pay') !== null) return
    setDone(null)
    setOpen(true)
  }
  useShortcuts([{ keys: 'n', title: 'payment.keys', run: open }])
  const close = (text: string | null) => {
    setOpen(false)
    setDone(text)
    if (text !== null) announce(text)
  }
  const tab = tabOf(TABS)
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{t('page.payments')}</h1>
        <ActionButton action="api/pay" kind="main" onAct={open}>
          {t('payment.open')}
        </ActionButton>
        {aid !== '' && <a href={link(`customer/aid/${aid}`)}>{t('search.account', { aid })}</a>}
      </div>
      {done !== null && <p class="mark good">✓ {done}</p>}
      <FilterForm
        label={t('payments.filter')}
        fields={[{ name: 'aid', label: t('payments.aid'), input: NUMBER_INPUT }]}
      />
      <Tabs
        label={t('payments.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`payments.tab.${name}`) }))}
      />
      {tab === 'charges' ? <Charges aid={aid} /> : <Payments key={done} aid={aid} />}
      {isOpen && <Pay aid={aid} onClose={close} />}
    </>
  )
}

function Payments({ aid }: { readonly aid: string }) {
  const reading = useList(`payments ${aid}`, (after, signal) => readPayments(aid, after, signal))
  const [corrected, setCorrected] = useState<Payment | null>(null)
  return (
    <>
      <List
        reading={reading}
        height={5}
        empty={t('payments.none')}
        caption={t('payments.tab.payments')}
        columns={[...paymentColumns(), correctColumn(setCorrected)]}
        keyOf={({ _id }) => _id.$id}
      />
      {corrected !== null && (
        <Correct payment={corrected} onDone={reading.reload} onClose={() => setCorrected(null)} />
      )}
    </>
  )
}

const paymentColumns = (): Column<Payment>[] => [
  timeColumn('payments.time', (row) => isoOf(row['urt'])),
  textColumn('payments.number', (row) => <span class="id">{textIn(row, 'txid')}</span>),
  customerColumn('payments.aid', 'aid', (row) => textIn(row, 'aid')),
  textColumn('payments.method', methodOf),
  textColumn('payments.direction', (row) => {
    return t(textIn(row, 'dir') === 'tc' ? 'payments.tc' : 'payments.fc')
  }),
  textColumn('payments.state', (row) => {
    return t(`payments.is.${stateOf(row)}`, { txid: textIn(row, 'original_txid') })
  }),
  moneyColumn('payments.amount', (row) => moneyIn(row, 'amount')),
  numberColumn('payments.left', (row) => moneyIn(row, 'left')),
]

function methodOf(row: Fields): string {
  const method = textIn(row, 'method')
  const key = `payment.by.${method}`
  return isKey(key) ? t(key) : method
}

function correctColumn(onCorrect: (payment: Payment) => void): Column<Payment> {
  return textColumn('payments.action', (row) => {
    if (CORRECTIONS[stateOf(row)] === undefined) return null
    return (
      <ActionButton
        action="api/adjustpayments"
        isBrief
        label={t('payments.correctOne', { txid: textIn(row, 'txid') })}
        onAct={() => onCorrect(row)}
      >
        {t('payments.correct')}
      </ActionButton>
    )
  })
}

function Charges({ aid }: { readonly aid: string }) {
  return (
    <List
      reading={useList(`charges ${aid}`, (after, signal) => readCharges(aid, after, signal))}
      height={5}
      empty={t('charges.none')}
      caption={t('payments.tab.charges')}
      columns={chargeColumns()}
      keyOf={(row) => textIn(row, 'id')}
    />
  )
}

const chargeColumns = (): Column<Fields>[] => [
  timeColumn('payments.time', (row) => textIn(row, 'created')),
  textColumn('payments.number', (row) => <span class="id">{textIn(row, 'txid')}</span>),
  customerColumn('payments.aid', 'aid', (row) => textIn(row, 'aid')),
  textColumn('charges.gateway', (row) => textIn(row, 'gateway')),
  textColumn('charges.reason', (row) => textIn(row, 'reason')),
  textColumn('payments.state', (row) => {
    return [textIn(row, 'state'), textIn(row, 'code')].filter(Boolean).join(' ')
  }),
  textColumn('charges.task', (row) => textIn(row, 'task') && <Time value={textIn(row, 'task')} />),
  moneyColumn('payments.amount', (row) => moneyIn(row, 'amount')),
]

interface CorrectProps {
  readonly payment: Fields
  readonly onDone: () => void
  readonly onClose: () => void
}

function Correct({ payment, onDone, onClose }: CorrectProps) {
  const offered = CORRECTIONS[stateOf(payment)] ?? []
  const [how, setHow] = useState<Correction>(offered[0] ?? 'cancel')
  const values = { amount: withCurrency(moneyIn(payment, 'amount')), aid: textIn(payment, 'aid') }
  return (
    <Confirm
      title={t('correct.title', { txid: textIn(payment, 'txid') })}
      about={t('correct.about', values)}
      act={t('correct.do')}
      action={how === 'cancel' ? 'api/pay' : 'api/adjustpayments'}
      hasReason
      onAct={async (reason, key) => {
        await correct(how, payment, reason, key)
        onDone()
      }}
      onClose={onClose}
    >
      <Field
        label={t('correct.how')}
        value={how}
        onValue={(value) => setHow(value as Correction)}
        choices={offered.map((value) => ({ value, label: t(`correct.${value}`) }))}
        hint={t(`correct.${how}About`)}
      />
    </Confirm>
  )
}
