// Every test of the locked suite is classified: a new release that brings a test nobody has looked at fails here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifiedTests, testsOf } from './classification.ts';
import { declaredTests, suiteSource, testsInSource } from './suite-source.ts';

const { folder, isThere } = suiteSource();
const absent = isThere ? false : `${folder} is not there: Go downloads it with npm run tools -- conformance-suite`;

test('every test of the suite is classified, with the features that gate it', { skip: absent }, () => {
  const found = testsInSource(folder);
  const classified = Object.fromEntries(Object.entries(classifiedTests).map(([name, { features }]) => [name, features]));
  const unclassified = Object.keys(found).filter((name) => !(name in classified));
  assert.deepEqual(unclassified, [], 'tests that nobody has classified: add them to test/conformance/tests.json');
  assert.deepEqual(classified, found);
});

test('the profiles count as many tests as the reports of this release do', () => {
  const count = (...args: Parameters<typeof testsOf>): number => testsOf(...args).length;
  assert.deepEqual([count('GATEWAY-HTTP', 'core'), count('GATEWAY-HTTP', 'extended')], [36, 58]);
  assert.deepEqual([count('GATEWAY-GRPC', 'core'), count('GATEWAY-GRPC', 'extended')], [14, 11]);
});

test('what counts in a profile is not outside', () => {
  const wrong = Object.entries(classifiedTests).filter(([, { place, profiles }]) => place === 'outside' && profiles.length > 0);
  assert.deepEqual(wrong, []);
});

test('a declaration is read with all its features, and one that hides its name is no test less but an error', () => {
  const declaration = (name: string): string =>
    `var X = suite.ConformanceTest{\n\tShortName: ${name},\n\tFeatures: []features.FeatureName{\n\t\tfeatures.SupportGateway,\n\t\tfeatures.SupportHTTPRouteRetry,\n\t},\n}\n`;
  assert.deepEqual(declaredTests(declaration('"X"')), [['X', ['Gateway', 'HTTPRouteRetry']]]);
  assert.throws(() => declaredTests(declaration('nameOfX')), /a test without name or features/);
});
