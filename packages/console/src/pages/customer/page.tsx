/** A customer: who it is, what it has left, what it used and why that cost what it did. */
import './customer.css'
import { useRead } from '../../api/read.ts'
import type { PageProps } from '../../frame/routes.ts'
import { AuditEntries } from '../../parts/audit-entries.tsx'
import { useList } from '../../parts/list.tsx'
import { ReadView } from '../../parts/state.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { CUSTOMER } from '../../words/en/customer.ts'
import { addWords, t } from '../../words/words.ts'
import { BalancesAndSessions } from './balances-and-sessions.tsx'
import { Bills } from './bills.tsx'
import { type Customer, readAudit, readCustomer } from './data.ts'
import { Header } from './header.tsx'
import { History } from './history.tsx'
import { Lines } from './lines.tsx'
import { Subscribers } from './subscribers.tsx'

addWords(CUSTOMER)

const NUMBER = /^[1-9]\d{0,15}$/

/** Addresses: `customer/sid/171` and `customer/aid/17`. */
export default function CustomerPage({ params }: PageProps) {
  const { of = '', id = '' } = params
  const kind = of === 'aid' ? 'account' : 'subscriber'
  const isNumber = NUMBER.test(id) && (of === 'aid' || of === 'sid')
  const reading = useRead(
    `${kind} ${id}`,
    isNumber ? (signal) => readCustomer(kind, Number(id), signal) : null,
  )
  if (!isNumber) return <Unknown text={t('customer.badNumber', { id })} />
  return (
    <div class="customer">
      <ReadView reading={reading} rows={12}>
        {({ customer }) =>
          customer === null ? (
            <Unknown text={t(`customer.no.${kind}`, { id })} />
          ) : (
            <CustomerView customer={customer} onChanged={reading.reload} />
          )
        }
      </ReadView>
    </div>
  )
}

function Unknown({ text }: { readonly text: string }) {
  return (
    <>
      <h1 tabIndex={-1}>{t('page.customer')}</h1>
      <p class="state">{text}</p>
    </>
  )
}

interface CustomerViewProps {
  readonly customer: Customer
  readonly onChanged: () => void
}

function CustomerView({ customer, onChanged }: CustomerViewProps) {
  return (
    <>
      <Header customer={customer} onChanged={onChanged} />
      <BalancesAndSessions customer={customer} />
      <History customer={customer} />
      <Records customer={customer} />
    </>
  )
}

const OF_SUBSCRIBER = ['lines', 'bills', 'audit'] as const
const OF_ACCOUNT = ['subscribers', 'bills', 'audit'] as const

function Records({ customer }: { readonly customer: Customer }) {
  const { aid, sid } = customer
  const names = sid === null ? OF_ACCOUNT : OF_SUBSCRIBER
  const tab = tabOf<(typeof names)[number]>(names)
  return (
    <section aria-labelledby="records">
      <h2 id="records" class="hidden">
        {t('records.title')}
      </h2>
      <Tabs
        label={t('records.title')}
        tabs={names.map((name) => ({ name, title: t(`records.${name}`) }))}
        own={['after', 'line']}
      />
      {tab === 'lines' && sid !== null && <Lines sid={sid} />}
      {tab === 'subscribers' && <Subscribers aid={aid} />}
      {tab === 'bills' && <Bills aid={aid} />}
      {tab === 'audit' && <Audit customer={customer} />}
    </section>
  )
}

function Audit({ customer }: { readonly customer: Customer }) {
  const { kind, aid, sid } = customer
  const reading = useList(`audit ${kind} ${aid} ${sid}`, (after, signal) =>
    readAudit(customer, after, signal),
  )
  return <AuditEntries reading={reading} />
}
