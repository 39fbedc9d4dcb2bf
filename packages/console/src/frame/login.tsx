/** Login over the page: what is behind it stays as it is, and the refused calls are repeated. */
import { signal } from '@preact/signals'
import { holdCalls, onSessionEnd } from '../api/client.ts'
import { changePassword, logIn, readSession, sessionUser } from '../api/session.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Form, useForm } from '../parts/form.tsx'
import { t } from '../words/words.ts'

/** Resolves the calls that wait for a login; null while none does. */
const waiting = signal<{ readonly promise: Promise<void>; resolve(): void } | null>(null)

/** Opens the login; all calls that are refused meanwhile wait for the same one. */
export function askLogin(): Promise<void> {
  const present = waiting.peek()
  if (present !== null) return present.promise
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  waiting.value = { promise, resolve }
  return promise
}

export function startLogin(): void {
  onSessionEnd(askLogin)
  holdCalls(readSession().then((isAdmitted) => (isAdmitted ? undefined : askLogin())))
}

function finish(): void {
  const present = waiting.peek()
  waiting.value = null
  present?.resolve()
}

export function Login() {
  return waiting.value === null ? null : <LoginDialog />
}

const EMPTY = { username: '', password: '', totp: '', newPassword: '' }
type LoginValues = typeof EMPTY

function LoginDialog() {
  const user = sessionUser.value
  const mustChange = user?.mustChangePassword === true
  const mustEnrol = user?.mustEnrolTotp === true
  const form = useForm(EMPTY, submitLogin)
  const { username, password, totp, newPassword } = form.values.value
  const needsCode = totp !== '' || /\b(?:code|totp)\b/i.test(form.refusal.value?.text ?? '')
  return (
    <Dialog title={mustChange ? t('login.change') : t('login.title')}>
      <p class="muted">{mustChange ? t('login.mustChange') : t('login.kept')}</p>
      {mustEnrol && <p>{t('login.enrol')}</p>}
      <Form form={form} save={mustChange ? t('login.save') : t('login.submit')}>
        <Field
          label={t('login.user')}
          value={username}
          onValue={(value) => form.set('username', value)}
          input={{ autocomplete: 'username', required: true, autofocus: true, name: 'username' }}
        />
        <Field
          label={t('login.password')}
          value={password}
          onValue={(value) => form.set('password', value)}
          input={{
            type: 'password',
            autocomplete: 'current-password',
            required: true,
            name: 'password',
          }}
        />
        {mustChange && (
          <Field
            label={t('login.newPassword')}
            value={newPassword}
            onValue={(value) => form.set('newPassword', value)}
            input={{
              ref: focusOn,
              type: 'password',
              autocomplete: 'new-password',
              required: true,
            }}
          />
        )}
        {needsCode && (
          <Field
            label={t('login.code')}
            value={totp}
            onValue={(value) => form.set('totp', value)}
            input={{ inputMode: 'numeric', autocomplete: 'one-time-code' }}
          />
        )}
      </Form>
    </Dialog>
  )
}

/** Called when the field appears. */
function focusOn(input: HTMLInputElement | null): void {
  input?.focus()
}

async function submitLogin(values: LoginValues): Promise<void> {
  const { username, password, totp, newPassword } = values
  const code = totp === '' ? {} : { totp }
  if (newPassword !== '') {
    await changePassword({ username, password, new_password: newPassword, ...code })
    await readSession()
    // Without a session, the new password opens one.
    if (sessionUser.peek() === null) await logIn({ username, password: newPassword, ...code })
  } else await logIn({ username, password, ...code })
  // Then the same dialog asks for a new password.
  if (sessionUser.peek()?.mustChangePassword !== true) finish()
}
