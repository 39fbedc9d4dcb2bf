/** A customer: who it is, what it has left, what it used and why that cost what it did. */
import './customer.css'
import { useRead } from '../../api/read.ts'
import type { PageProps } from '../../frame/routes.ts'
import { ReadView } from '../../parts/state.tsx'
import { CUSTOMER } from '../../words/en/customer.ts'
import { addWords, t } from '../../words/words.ts'
import { BalancesAndSessions } from './balances-and-sessions.tsx'
import { type Customer, readCustomer } from './data.ts'
import { Header } from './header.tsx'
import { History } from './history.tsx'
import { Records } from './records.tsx'

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
