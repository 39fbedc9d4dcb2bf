/** Events: what was stored and sent, sending again, and the rules that make events. */
import { location } from '../../frame/routes.ts'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { EVENTS } from '../../words/en/events.ts'
import { addWords, t } from '../../words/words.ts'
import { EventDetails } from './details.tsx'
import { EventList } from './list.tsx'
import { Rules } from './rules.tsx'

addWords(EVENTS)

const TABS = ['events', 'rules'] as const

export default function Page() {
  const { stamp } = location.value.query
  return (
    <>
      <h1 tabIndex={-1}>{t('page.events')}</h1>
      <Tabs
        label={t('eventpage.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`eventpage.${name}`) }))}
        own={['after', 'stamp', 'rule']}
      />
      {tabOf(TABS) === 'events' ? <EventList /> : <Rules />}
      {stamp !== undefined && <EventDetails key={stamp} stamp={stamp} />}
    </>
  )
}
