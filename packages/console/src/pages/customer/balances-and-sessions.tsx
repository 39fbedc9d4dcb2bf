/** Balances, and the sessions that reserve them: one changes the other. */
import { useState } from 'preact/hooks'
import { type Reading, useRead } from '../../api/read.ts'
import type { Page } from '../../api/records.ts'
import type { OpenSession } from '../../api/sessions.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { announce } from '../../parts/live-region.tsx'
import { keptPending } from '../../parts/pending.ts'
import { ReleaseDialog } from '../../parts/release.tsx'
import { missingText } from '../../parts/rights.ts'
import { Age, ReadView } from '../../parts/state.tsx'
import { tabStorage } from '../../parts/tab-storage.ts'
import { t } from '../../words/words.ts'
import { type Balance, balanceRows } from './balance-view.ts'
import { Balances } from './balances.tsx'
import { type Customer, readBalances, readSessions } from './data.ts'
import { Sessions } from './sessions.tsx'
import { NO_TOP_UP, pendingTopUp, TopUp } from './top-up.tsx'

export function BalancesAndSessions({ customer }: { readonly customer: Customer }) {
  const key = `${customer.aid} ${customer.sid}`
  const balances = useRead(`balances ${key}`, (signal) => readBalances(customer, signal))
  const sessions = useRead(`sessions ${key}`, (signal) => readSessions(customer, signal))
  const pending = keptPending(tabStorage(), pendingTopUp(customer), NO_TOP_UP)
  const [isOpen, setOpen] = useState(pending?.isSent === true)
  const [releasing, setReleasing] = useState<OpenSession | null>(null)
  const [done, setDone] = useState<string | null>(null)
  const open = () => {
    if (missingText('balances/update') !== null) return
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
  return (
    <div class="left-and-reserved">
      <BalanceSection reading={balances} done={done} onReload={reload} onTopUp={open} />
      <OpenSessions reading={sessions} onRelease={setReleasing} />
      {releasing !== null && (
        <ReleaseDialog
          sessions={[releasing]}
          onReleased={reload}
          onClose={() => setReleasing(null)}
        />
      )}
      {isOpen && <TopUp customer={customer} onClose={finish} />}
    </div>
  )
}

interface BalanceSectionProps {
  readonly reading: Reading<readonly Balance[]>
  /** The last top-up. */
  readonly done: string | null
  readonly onReload: () => void
  readonly onTopUp: () => void
}

function BalanceSection({ reading, done, onReload, onTopUp }: BalanceSectionProps) {
  const { atMs } = reading.state.value
  return (
    <section aria-labelledby="balances">
      <header class="section-header">
        <h2 id="balances">{t('balances.title')}</h2>
        {atMs !== null && <Age atMs={atMs} />}
        <button type="button" onClick={onReload}>
          {t('balances.reload')}
        </button>
        <ActionButton action="balances/update" kind="main" onAct={onTopUp}>
          {t('topUp.open')}
        </ActionButton>
      </header>
      {done !== null && <p class="mark good">✓ {done}</p>}
      <ReadView reading={reading} rows={5} empty={t('balances.none')}>
        {(all) => <Balances rows={balanceRows(all)} />}
      </ReadView>
    </section>
  )
}

interface OpenSessionsProps {
  readonly reading: Reading<Page<OpenSession>>
  readonly onRelease: (session: OpenSession) => void
}

function OpenSessions({ reading, onRelease }: OpenSessionsProps) {
  return (
    <section aria-labelledby="sessions">
      <header class="section-header">
        <h2 id="sessions">{t('sessions.title')}</h2>
      </header>
      <ReadView
        reading={reading}
        isEmpty={(page) => page.rows.length === 0 && page.next === null}
        empty={t('sessions.none')}
      >
        {(page) => <Sessions page={page} onRelease={onRelease} />}
      </ReadView>
    </section>
  )
}
