/** What the customer has left, and which sessions reserve it: read together, as one changes both. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { announce } from '../../parts/live-region.tsx'
import { Age, ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { balanceRows } from './balance-view.ts'
import { Balances } from './balances.tsx'
import { type Customer, readBalances, readSessions } from './data.ts'
import { keptTopUp } from './pending-top-up.ts'
import { whyNot } from './rights.ts'
import { Sessions } from './sessions.tsx'
import { tabStorage } from './tab-storage.ts'
import { ownerName, TopUp } from './top-up.tsx'

export function BalancesAndSessions({ customer }: { readonly customer: Customer }) {
  const key = `${customer.aid} ${customer.sid}`
  const balances = useRead(`balances ${key}`, (signal) => readBalances(customer, signal))
  const sessions = useRead(`sessions ${key}`, (signal) => readSessions(customer, null, signal))
  const pending = keptTopUp(tabStorage(), ownerName(customer))
  const [isOpen, setOpen] = useState(pending?.isSent === true)
  const [done, setDone] = useState<string | null>(null)
  const refusal = whyNot('balances/update')
  const open = () => {
    if (whyNot('balances/update') !== null) return
    setDone(null)
    setOpen(true)
  }
  useShortcuts([{ keys: 't', title: 'keys.topUp', run: open }])
  const reload = () => {
    balances.reload()
    sessions.reload()
  }
  const finish = (text: string | null) => {
    setOpen(false)
    setDone(text)
    if (text === null) return
    announce(text)
    reload()
  }
  const { atMs } = balances.state.value
  return (
    <div class="left-and-reserved">
      <section aria-labelledby="balances">
        <header class="section-header">
          <h2 id="balances">{t('balances.title')}</h2>
          {atMs !== null && <Age atMs={atMs} />}
          <button type="button" onClick={reload}>
            {t('balances.reload')}
          </button>
          <button
            type="button"
            class="main"
            aria-disabled={refusal !== null}
            aria-describedby={refusal === null ? undefined : 'why-no-top-up'}
            onClick={open}
          >
            {t('topUp.open')}
          </button>
        </header>
        {refusal !== null && (
          <p id="why-no-top-up" class="muted">
            {refusal}
          </p>
        )}
        {done !== null && <p class="mark good">✓ {done}</p>}
        <ReadView
          reading={balances}
          rows={5}
          isEmpty={(all) => all.length === 0}
          empty={t('balances.none')}
        >
          {(all) => <Balances rows={balanceRows(all)} />}
        </ReadView>
      </section>
      <section aria-labelledby="sessions">
        <header class="section-header">
          <h2 id="sessions">{t('sessions.title')}</h2>
        </header>
        <ReadView
          reading={sessions}
          isEmpty={(page) => page.sessions.length === 0 && page.next === null}
          empty={t('sessions.none')}
        >
          {(page) => <Sessions page={page} onReleased={reload} />}
        </ReadView>
      </section>
      {isOpen && <TopUp customer={customer} onClose={finish} />}
    </div>
  )
}
