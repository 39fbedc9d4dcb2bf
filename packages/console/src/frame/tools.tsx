/** Choices and tools at the end of the header: zone, language, calls, keys, user. */
import { useSignal } from '@preact/signals'
import { logOut, sessionUser } from '../api/session.ts'
import { zoneName } from '../parts/time.tsx'
import { LANGUAGES, type Language, language, t } from '../words/words.ts'
import { CallsDrawer } from './calls-drawer.tsx'
import { chooseLanguage, nextZone, zoneChoice } from './choices.ts'
import { useShortcuts } from './keys.ts'
import { KeysDialog } from './keys-dialog.tsx'
import { askLogin } from './login.tsx'
import { MENU, navigate } from './routes.ts'

export function Tools() {
  const opened = useSignal<'calls' | 'keys' | null>(null)
  const show = (name: 'calls' | 'keys' | null) => () => {
    opened.value = name
  }
  const toggleCalls = () => show(opened.peek() === 'calls' ? null : 'calls')()
  useShortcuts([
    ...MENU.map(({ page, title, key }) => {
      return { keys: `g ${key}`, title, run: () => navigate(page) } as const
    }),
    { keys: 'z', title: 'keys.zone', run: nextZone },
    { keys: 'x', title: 'calls.title', run: toggleCalls },
    { keys: '?', title: 'keys.title', run: show('keys') },
  ])
  return (
    <div class="tools">
      <button type="button" onClick={nextZone} title={t('zone.next')}>
        {t(`zone.${zoneChoice.value}`, { zone: zoneName() })}
      </button>
      <LanguageSelect />
      <button type="button" onClick={toggleCalls}>
        {t('calls.short')}
      </button>
      <button type="button" onClick={show('keys')}>
        {t('keys.short')}
      </button>
      <User />
      {opened.value === 'calls' && <CallsDrawer onClose={show(null)} />}
      {opened.value === 'keys' && <KeysDialog onClose={show(null)} />}
    </div>
  )
}

function LanguageSelect() {
  const changed = (event: Event) =>
    chooseLanguage((event.currentTarget as HTMLSelectElement).value as Language)
  return (
    <select aria-label={t('language.label')} value={language.value} onChange={changed}>
      {Object.entries(LANGUAGES).map(([code, name]) => (
        <option key={code} value={code} lang={code}>
          {name}
        </option>
      ))}
    </select>
  )
}

function User() {
  const user = sessionUser.value
  if (user === null) return null
  const leave = () => void logOut().then(askLogin)
  return (
    <span class="user">
      <span title={user.roles.join(', ')}>{user.name}</span>
      <button type="button" onClick={leave}>
        {t('login.out')}
      </button>
    </span>
  )
}
