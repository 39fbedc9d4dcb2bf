/** Payments of an account or of all, and charges through gateways. */
import '../../parts/split.css'
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { link, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { announce } from '../../parts/live-region.tsx'
import { moneyHeader, withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { keptPending } from '../../parts/pending.ts'
import { missingText } from '../../parts/rights.ts'
import { ReadView } from '../../parts/state.tsx'
import { tabStorage } from '../../parts/tab-storage.ts'
import { type Column, Pager, pageKey, Table } from '../../parts/table.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { PAYMENTS } from '../../words/en/payments.ts'
import { addWords, isKey, t } from '../../words/words.ts'
import {
  CORRECTIONS,
  type Correction,
  correct,
  moneyIn,
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
  const after = pageKey()
  const reading = useRead(`payments ${aid} ${after}`, (signal) => readPayments(aid, after, signal))
  const [corrected, setCorrected] = useState<Payment | null>(null)
  return (
    <>
      <ReadView
        reading={reading}
        rows={5}
        isEmpty={({ rows }) => rows.length === 0 && after === null}
        empty={t('payments.none')}
      >
        {({ rows, next }) => (
          <>
            <Table
              caption={t('payments.tab.payments')}
              columns={[...paymentColumns(), correctColumn(setCorrected)]}
              rows={rows}
              keyOf={({ _id }) => _id.$id}
            />
            <Pager next={next} />
          </>
        )}
      </ReadView>
      {corrected !== null && (
        <Correct payment={corrected} onDone={reading.reload} onClose={() => setCorrected(null)} />
      )}
    </>
  )
}

const account = (row: Fields) => (
  <a href={link(`customer/aid/${textIn(row, 'aid')}`)}>{textIn(row, 'aid')}</a>
)

const paymentColumns = (): Column<Payment>[] => [
  { title: timeHeader(t('payments.time')), cell: (row) => <Time value={isoOf(row['urt'])} /> },
  { title: t('payments.number'), cell: (row) => <span class="id">{textIn(row, 'txid')}</span> },
  { title: t('payments.aid'), cell: account },
  { title: t('payments.method'), cell: methodOf },
  {
    title: t('payments.direction'),
    cell: (row) => t(textIn(row, 'dir') === 'tc' ? 'payments.tc' : 'payments.fc'),
  },
  {
    title: t('payments.state'),
    cell: (row) => t(`payments.is.${stateOf(row)}`, { txid: textIn(row, 'original_txid') }),
  },
  {
    title: moneyHeader(t('payments.amount')),
    cell: (row) => moneyIn(row, 'amount'),
    isNumber: true,
  },
  { title: t('payments.left'), cell: (row) => moneyIn(row, 'left'), isNumber: true },
]

function methodOf(row: Fields): string {
  const method = textIn(row, 'method')
  const key = `payment.by.${method}`
  return isKey(key) ? t(key) : method
}

function correctColumn(onCorrect: (payment: Payment) => void): Column<Payment> {
  return {
    title: t('payments.action'),
    cell: (row) =>
      CORRECTIONS[stateOf(row)] === undefined ? null : (
        <ActionButton
          action="api/adjustpayments"
          isBrief
          label={t('payments.correctOne', { txid: textIn(row, 'txid') })}
          onAct={() => onCorrect(row)}
        >
          {t('payments.correct')}
        </ActionButton>
      ),
  }
}

function Charges({ aid }: { readonly aid: string }) {
  const after = pageKey()
  const reading = useRead(`charges ${aid} ${after}`, (signal) => readCharges(aid, after, signal))
  return (
    <ReadView
      reading={reading}
      rows={5}
      isEmpty={({ rows }) => rows.length === 0 && after === null}
      empty={t('charges.none')}
    >
      {({ rows, next }) => (
        <>
          <Table
            caption={t('payments.tab.charges')}
            columns={chargeColumns()}
            rows={rows}
            keyOf={(row) => textIn(row, 'id')}
          />
          <Pager next={next} />
        </>
      )}
    </ReadView>
  )
}

const chargeColumns = (): Column<Fields>[] => [
  { title: timeHeader(t('payments.time')), cell: (row) => <Time value={textIn(row, 'created')} /> },
  { title: t('payments.number'), cell: (row) => <span class="id">{textIn(row, 'txid')}</span> },
  { title: t('payments.aid'), cell: account },
  { title: t('charges.gateway'), cell: (row) => textIn(row, 'gateway') },
  { title: t('charges.reason'), cell: (row) => textIn(row, 'reason') },
  {
    title: t('payments.state'),
    cell: (row) => [textIn(row, 'state'), textIn(row, 'code')].filter(Boolean).join(' '),
  },
  {
    title: t('charges.task'),
    cell: (row) => textIn(row, 'task') && <Time value={textIn(row, 'task')} />,
  },
  {
    title: moneyHeader(t('payments.amount')),
    cell: (row) => moneyIn(row, 'amount'),
    isNumber: true,
  },
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
