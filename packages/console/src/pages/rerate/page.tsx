/** Rerating: a preview of what today's catalogue would change, and the run that changes it. */
import { useState } from 'preact/hooks'
import { navigateHere } from '../../frame/routes.ts'
import { announce } from '../../parts/live-region.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { RERATE } from '../../words/en/rerate.ts'
import { addWords, t } from '../../words/words.ts'
import type { Previewed } from './data.ts'
import { Previews } from './preview.tsx'
import { LastRun } from './run.tsx'

addWords(RERATE)

const TABS = ['preview', 'run'] as const
/** State of the tab with the run. */
const OWN = ['state', 'after'] as const

export default function Page() {
  // It stays while the other tab is shown.
  const [previewed, setPreviewed] = useState<Previewed | null>(null)
  const begun = () => {
    setPreviewed(null)
    navigateHere({ tab: 'run' })
    announce(t('rerate.begun'))
  }
  return (
    <>
      <h1 tabIndex={-1}>{t('page.rerate')}</h1>
      <Tabs
        label={t('rerate.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`rerate.tab.${name}`) }))}
        own={OWN}
      />
      {tabOf(TABS) === 'preview' ? (
        <Previews previewed={previewed} onPreviewed={setPreviewed} onBegun={begun} />
      ) : (
        <LastRun />
      )}
    </>
  )
}
