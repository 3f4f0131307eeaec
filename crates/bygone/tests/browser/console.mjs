// Goes through the console as a person does, in a real browser: node console.mjs MODULES URL POLICY REMOVED CONFIG
//
// With BYGONE_SCREENSHOTS=DIR it leaves pictures there.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [modules, url, policy, removed, config] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'index.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const pictures = process.env.BYGONE_SCREENSHOTS;

const wrong = [];
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
const context = await browser.newContext({ viewport: { width: 1100, height: 700 } });
const page = await context.newPage();
page.setDefaultTimeout(30_000);
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) wrong.push(`${page.url()}: ${message.text()}`);
});
page.on('pageerror', (error) => wrong.push(`${page.url()}: ${error}`));
await page.exposeFunction('violated', (what) => wrong.push(`policy violated: ${what}`));
await page.addInitScript(() => {
  document.addEventListener('securitypolicyviolation', (event) => window.violated(`${event.violatedDirective} ${event.blockedURI}`));
});

// What stands in the way of people who do not see, or see little.
async function judge(name) {
  // By the debugger: the page's own policy lets no script in.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, nodes } of violations) wrong.push(`${name}: ${id}: ${nodes.map((node) => node.html)}`);
}

// Every page, by day and by night, wide and narrow.
async function look(name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1100, 375]) {
      await page.setViewportSize({ width, height: 700 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (over > 0) wrong.push(`${name}: ${over} px too wide at ${width}`);
      await judge(`${name}, ${colorScheme}, ${width}`);
      if (pictures) await page.screenshot({ path: path.join(pictures, `${name}-${colorScheme}-${width}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1100, height: 700 });
}

function must(holds, what) {
  if (!holds) throw new Error(what);
}

// By the keyboard alone: from where one is to what bears this name, and in.
async function enter(name) {
  const at = () => page.evaluate(() => document.activeElement.textContent.trim());
  for (let stops = 0; (await at()) !== name; stops++) {
    must(stops < 40, `no stop is called ${name}`);
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    });
    must(outline, `one does not see that one is at ${await at()}`);
  }
  await page.keyboard.press('Enter');
}

// The way to the sweep's plan, without a mouse.
async function byKeyboard() {
  await page.goto(url);
  await page.keyboard.press('Tab');
  must((await page.evaluate(() => document.activeElement.textContent)) === 'Skip to the content', 'the first stop is no skip link');
  await page.keyboard.press('Enter');
  must((await page.evaluate(() => document.activeElement.id)) === 'content', 'the skip link leads nowhere');
  await enter(policy);
  await page.getByRole('heading', { level: 1, name: policy }).waitFor();
  await enter('Plan a sweep');
  await page.getByRole('heading', { level: 1, name: `Plan for ${policy}` }).waitFor();
}

// A source's page, from the list of all.
async function source(name, heading) {
  await page.getByRole('link', { name: 'Sources', exact: true }).click();
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await page.getByRole('heading', { level: 2, name: heading, exact: true }).waitFor();
  await look(`source-${name}`);
}

// A file that is wrong is told of on the first page, until it is right again.
async function wrongFile() {
  const good = readFileSync(config, 'utf8');
  const told = page.getByRole('heading', { name: 'The configuration on disk cannot be used' });
  const until = async (isTold) => {
    for (let looks = 0; (await told.count()) !== (isTold ? 1 : 0); looks++) {
      must(looks < 600, isTold ? 'a wrong file is not told of' : 'a good file is not taken over');
      await page.goto(url);
    }
  };
  writeFileSync(config, `${good}\nevry = "1h"\n`);
  await until(true);
  await page.getByText('config::unknown_key').waitFor();
  await look('overview-wrong-file');
  writeFileSync(config, good);
  await until(false);
}

try {
  await byKeyboard();
  await page.goto(url);
  await look('overview-before');
  await page.getByRole('link', { name: policy, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: policy }).waitFor();
  await page.getByText(`Rows of \`${policy}\` whose`).waitFor();
  await page.getByText('DELETE FROM').first().waitFor();
  await look('policy');
  await page.getByRole('link', { name: 'Plan a sweep' }).click();
  await page.getByText(`${removed} items would go`).waitFor();
  await look('plan');
  await page.getByRole('button', { name: 'Sweep now' }).click();
  await page.waitForURL(/\/sweeps\//);
  // The page moves by itself: nobody loads it again.
  await page.locator('#removed', { hasText: /^[1-9]\d$/ }).waitFor();
  must((await page.locator('.count .badge').innerText()) === 'running', 'the sweep is not watched while it runs');
  await judge('a sweep that runs');
  await page.locator('.count .badge', { hasText: 'complete' }).waitFor();
  must((await page.locator('#removed').innerText()) === removed, 'the sweep does not tell what was removed');
  await look('sweep');
  await page.getByRole('link', { name: 'Sweeps', exact: true }).click();
  await look('sweeps');
  await page.getByRole('link', { name: 'Sources', exact: true }).click();
  await look('sources');
  await source('jobs', 'Leases');
  await page.getByRole('rowheader', { name: 'reports' }).waitFor();
  await source('area', 'Staged files');
  await page.getByRole('rowheader', { name: 'a.txt' }).waitFor();
  await source('db', 'Coverage');
  await page.getByRole('heading', { level: 3, name: 'carts, by deleted_at' }).waitFor();
  await source('attic', 'Policies');
  await page.goto(url);
  await look('overview');
  await wrongFile();
} catch (error) {
  wrong.push(String(error));
}
await browser.close();
for (const what of wrong) console.error(what);
process.exit(wrong.length === 0 ? 0 : 1);
